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
class BatchWaiters {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// Sleeps until ring(begin) or `until`, unless `is_over()`. May return early.
  template <typename IsOver>
  void wait(std::uint64_t begin, Time until, IsOver is_over) {
    Waiters& group = group_of(begin);
    std::unique_lock lock(group.mutex);
    // Precedes the check of the batch. Pairs with the load in ring().
    group.waiters.fetch_add(1, std::memory_order_seq_cst);
    if (!is_over()) group.rung.wait_until(lock, until);
    group.waiters.fetch_sub(1, std::memory_order_relaxed);
  }

  /// Call after a sequentially consistent store that says that the batch is
  /// done: either this sees the waiter or the waiter sees that store.
  void ring(std::uint64_t begin) {
    Waiters& group = group_of(begin);
    if (group.waiters.load(std::memory_order_seq_cst) != 0) wake(group);
  }

  void wake_all() {
    for (Waiters& group : groups_) wake(group);
  }

 private:
  struct alignas(64) Waiters {
    std::atomic<std::uint32_t> waiters{0};
    std::mutex mutex;
    std::condition_variable rung;
  };

  static void wake(Waiters& group) {
    {
      const std::lock_guard lock(group.mutex);
    }
    group.rung.notify_all();
  }
  Waiters& group_of(std::uint64_t begin) {
    return groups_[begin % groups_.size()];
  }

  std::array<Waiters, 64> groups_;
};

}  // namespace gpuos::host
