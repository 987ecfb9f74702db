#pragma once

#include <atomic>

#include "cpu_relax.h"

namespace gpuos {

/// A mutex for what others hold for less time than it takes to go to sleep and
/// be woken: it is looked at for 1 to 2 us before that, and taken and given
/// back without a call.
class QuickMutex {
 public:
  QuickMutex() = default;
  QuickMutex(const QuickMutex&) = delete;
  QuickMutex& operator=(const QuickMutex&) = delete;

  bool try_lock() noexcept {
    int expected = kFree;
    // Pairs with unlock().
    return state_.compare_exchange_strong(
        expected, kHeld, std::memory_order_acquire, std::memory_order_relaxed);
  }
  void lock() noexcept {
    if (!try_lock()) wait();
  }
  void unlock() noexcept {
    // Pairs with try_lock() and wait().
    if (state_.exchange(kFree, std::memory_order_release) == kAwaited)
      state_.notify_one();
  }

 private:
  enum : int { kFree, kHeld, kAwaited };

  void wait() noexcept {
    constexpr int kTurns = 64;
    for (int turn = 0; turn < kTurns; ++turn) {
      cpu_relax();
      if (state_.load(std::memory_order_relaxed) == kFree && try_lock()) return;
    }
    // Held as awaited from then on: others may sleep too. Pairs with unlock().
    while (state_.exchange(kAwaited, std::memory_order_acquire) != kFree)
      state_.wait(kAwaited, std::memory_order_relaxed);
  }

  std::atomic<int> state_{kFree};
};

}  // namespace gpuos
