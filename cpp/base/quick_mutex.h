#pragma once

#include <atomic>
#include <chrono>
#include <thread>

#include "base/cpu_relax.h"

namespace gpuos {

/// A mutex for critical sections of some 100 ns. It is acquired and released
/// without a call, and released with a plain store. An atomic exchange would
/// wait until all earlier stores are done, and those of a submission go to
/// memory that the device reads. Releasing therefore wakes no thread. A thread
/// that finds the mutex held polls for 1 to 2 us, and then at intervals.
/// docs/lab/submission.md has the gain.
class QuickMutex {
 public:
  QuickMutex() = default;
  QuickMutex(const QuickMutex&) = delete;
  QuickMutex& operator=(const QuickMutex&) = delete;

  bool try_lock() noexcept {
    // Pairs with unlock().
    return !is_held_.exchange(true, std::memory_order_acquire);
  }
  void lock() noexcept {
    if (!try_lock()) [[unlikely]]
      wait();
  }
  void unlock() noexcept {
    // Pairs with try_lock().
    is_held_.store(false, std::memory_order_release);
  }

 private:
  [[gnu::noinline]] void wait() noexcept {
    constexpr int kTurns = 64;
    constexpr std::chrono::microseconds kPause(20);
    for (int turn = 0;; ++turn) {
      if (turn < kTurns)
        cpu_relax();
      else
        std::this_thread::sleep_for(kPause);
      if (!is_held_.load(std::memory_order_relaxed) && try_lock()) return;
    }
  }

  std::atomic<bool> is_held_{false};
};

}  // namespace gpuos
