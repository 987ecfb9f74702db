#pragma once

#include <atomic>
#include <mutex>
#include <thread>

#include "gpuos/error.h"

namespace gpuos::session {

/// A mutex that knows its owner. A signal handler or a finalizer runs amid
/// what its thread does, and would wait for itself.
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
    // Only this thread asks for its own id.
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

/// A lock for those that change nothing: amid a cell of the own thread, which
/// is at rest then, it takes nothing.
class LookLock {
 public:
  explicit LookLock(OwnedMutex& mutex) : lock_(mutex, std::defer_lock) {
    if (!mutex.is_own()) lock_.lock();
  }

 private:
  std::unique_lock<OwnedMutex> lock_;
};

}  // namespace gpuos::session
