// A mutex for waits that are shorter than a sleep and a wake-up.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

namespace gpuos::bridge {

/// Tells the processor that this thread polls.
inline void cpu_relax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#else
  std::this_thread::yield();
#endif
}

/// A mutex that is acquired and released without a call, and released with a
/// plain store, like the runtime's (cpp/base/quick_mutex.h). Every operation
/// does both. Releasing wakes no thread: a thread that finds it held polls at
/// intervals.
class PatientMutex {
 public:
  PatientMutex() = default;
  PatientMutex(const PatientMutex&) = delete;
  PatientMutex& operator=(const PatientMutex&) = delete;

  void lock() noexcept {
    // Pairs with unlock().
    while (is_held_.exchange(true, std::memory_order_acquire)) [[unlikely]]
      wait();
  }
  bool try_lock() noexcept {
    // Pairs with unlock().
    return !is_held_.exchange(true, std::memory_order_acquire);
  }
  void unlock() noexcept {
    // Pairs with lock().
    is_held_.store(false, std::memory_order_release);
  }

 private:
  /// Until it is not held, or was not a moment ago.
  [[gnu::noinline]] void wait() const noexcept {
    constexpr int kTurns = 64;
    constexpr std::chrono::microseconds kLongest(1000);
    // The owner may have lost its processor, and frequent polling would keep it
    // from getting one back.
    std::chrono::microseconds pause(20);
    for (int turn = 0; is_held_.load(std::memory_order_relaxed); ++turn) {
      if (turn < kTurns) {
        cpu_relax();
      } else {
        std::this_thread::sleep_for(pause);
        pause = std::min(2 * pause, kLongest);
      }
    }
  }

  std::atomic<bool> is_held_{false};
};

}  // namespace gpuos::bridge
