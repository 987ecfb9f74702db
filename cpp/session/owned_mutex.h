#pragma once

#include <atomic>
#include <mutex>
#include <thread>

#include "gpuos/error.h"

namespace gpuos::session {

/// Holds a mutex that knows its owner. A signal handler or a finalizer
/// interrupts its own thread, and would wait for that thread.
///
/// Threads: any.
class OwnedMutex {
 public:
  /// Throws: InvalidArgument if this thread holds it.
  void lock() {
    if (is_own())
      throw InvalidArgument(
          "session: expected a call between two cells, got one of a signal "
          "handler or a finalizer while its thread runs a cell; call it when "
          "the cell has ended");
    mutex_.lock();
    // The order is relaxed, because only this thread asks for its own id.
    owner_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  }
  void unlock() noexcept {
    owner_.store({}, std::memory_order_relaxed);
    mutex_.unlock();
  }
  bool is_own() const noexcept {
    return owner_.load(std::memory_order_relaxed) == std::this_thread::get_id();
  }

 private:
  std::mutex mutex_;
  std::atomic<std::thread::id> owner_{};
};

/// Locks for calls that change nothing. Within a cell of its own thread, which
/// is at rest then, it does not lock.
class LookLock {
 public:
  explicit LookLock(OwnedMutex& mutex) : lock_(mutex, std::defer_lock) {
    if (!mutex.is_own()) lock_.lock();
  }

 private:
  std::unique_lock<OwnedMutex> lock_;
};

}  // namespace gpuos::session
