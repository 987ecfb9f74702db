// Waiting for what takes less time than to go to sleep and be woken.
#pragma once

#include <atomic>
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

/// A mutex that is taken and given back without a call of the C library, as the
/// runtime's is (cpp/quick_mutex.h): every operation does both.
class QuickMutex {
 public:
  QuickMutex() = default;
  QuickMutex(const QuickMutex&) = delete;
  QuickMutex& operator=(const QuickMutex&) = delete;

  void lock() noexcept {
    int expected = kFree;
    // Pairs with unlock().
    if (!state_.compare_exchange_strong(expected, kHeld,
                                        std::memory_order_acquire,
                                        std::memory_order_relaxed))
      wait();
  }
  void unlock() noexcept {
    // Pairs with lock() and wait().
    if (state_.exchange(kFree, std::memory_order_release) == kAwaited)
      state_.notify_one();
  }

 private:
  enum : int { kFree, kHeld, kAwaited };

  [[gnu::noinline]] void wait() noexcept {
    // Held as awaited from then on: others may sleep too. Pairs with unlock().
    while (state_.exchange(kAwaited, std::memory_order_acquire) != kFree)
      state_.wait(kAwaited, std::memory_order_relaxed);
  }

  std::atomic<int> state_{kFree};
};

}  // namespace gpuos::bridge
