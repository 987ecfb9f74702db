#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace gpuos::host {

/// Who of the workers looks for tasks and who sleeps. While one looks,
/// publishing wakes nobody: the one that finds a task wakes the next if there
/// are more.
class IdleWorkers {
 public:
  /// Call after a sequentially consistent store that publishes tasks: either
  /// this sees that nobody looks, or the one that stops looking sees the tasks.
  void announce() {
    if (searching_.load(std::memory_order_seq_cst) != 0) return;
    if (sleeping_.load(std::memory_order_seq_cst) != 0) wake_one();
  }

  /// Returns how many look now.
  std::uint32_t begin_search() {
    return searching_.fetch_add(1, std::memory_order_seq_cst) + 1;
  }
  /// The caller found a task; it looks for more afterwards, and announces.
  void end_search() { searching_.fetch_sub(1, std::memory_order_seq_cst); }

  /// Stops looking until woken; looks again on return.
  template <typename HasWork>
  void sleep(HasWork has_work) {
    std::unique_lock lock(mutex_);
    // In this order, so that announce() never finds neither.
    sleeping_.fetch_add(1, std::memory_order_seq_cst);
    searching_.fetch_sub(1, std::memory_order_seq_cst);
    if (!has_work()) {
      woken_.wait(lock, [this] { return wakeups_ != 0 || is_closed_; });
    }
    if (wakeups_ != 0) {
      --wakeups_;  // wake_one() has changed the counts
      return;
    }
    searching_.fetch_add(1, std::memory_order_seq_cst);
    sleeping_.fetch_sub(1, std::memory_order_seq_cst);
  }

  /// From now on nobody sleeps.
  void close() {
    {
      const std::lock_guard lock(mutex_);
      is_closed_ = true;
    }
    woken_.notify_all();
  }

  bool all_sleep(std::uint32_t workers) const noexcept {
    return sleeping_.load(std::memory_order_relaxed) == workers;
  }

 private:
  void wake_one() {
    {
      const std::lock_guard lock(mutex_);
      if (sleeping_.load(std::memory_order_relaxed) == 0) return;
      ++wakeups_;
      searching_.fetch_add(1, std::memory_order_seq_cst);
      sleeping_.fetch_sub(1, std::memory_order_seq_cst);
    }
    woken_.notify_one();
  }

  alignas(64) std::atomic<std::uint32_t> searching_{0};
  std::atomic<std::uint32_t> sleeping_{0};
  alignas(64) std::mutex mutex_;
  std::condition_variable woken_;
  std::uint32_t wakeups_ = 0;
  bool is_closed_ = false;
};

}  // namespace gpuos::host
