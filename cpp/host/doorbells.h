#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace gpuos::host {

/// Lets threads sleep until one batch is done. For a batch without waiters it
/// costs the worker one load.
class Doorbells {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// Sleeps until ring(begin) or `until`, unless `is_over()`. May return early.
  template <typename IsOver>
  void wait(std::uint64_t begin, Time until, IsOver is_over) {
    Bell& bell = bell_of(begin);
    std::unique_lock lock(bell.mutex);
    // Precedes the check of the batch. Pairs with the load in ring().
    bell.waiters.fetch_add(1, std::memory_order_seq_cst);
    if (!is_over()) bell.rung.wait_until(lock, until);
    bell.waiters.fetch_sub(1, std::memory_order_relaxed);
  }

  /// Call after a sequentially consistent store that says that the batch is
  /// done: either this sees the waiter or the waiter sees that store.
  void ring(std::uint64_t begin) {
    Bell& bell = bell_of(begin);
    if (bell.waiters.load(std::memory_order_seq_cst) != 0) wake(bell);
  }

  void ring_all() {
    for (Bell& bell : bells_) wake(bell);
  }

 private:
  struct alignas(64) Bell {
    std::atomic<std::uint32_t> waiters{0};
    std::mutex mutex;
    std::condition_variable rung;
  };

  static void wake(Bell& bell) {
    {
      const std::lock_guard lock(bell.mutex);
    }
    bell.rung.notify_all();
  }
  Bell& bell_of(std::uint64_t begin) { return bells_[begin % bells_.size()]; }

  std::array<Bell, 64> bells_;
};

}  // namespace gpuos::host
