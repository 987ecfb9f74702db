#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace gpuos::host {

/// Tracks which workers poll and which sleep. Waking costs microseconds, so no
/// worker is woken for a task that an attentive worker will find. A worker is
/// attentive if it polls or runs a short task.
class IdleWorkers {
 public:
  explicit IdleWorkers(std::uint32_t workers) : attentive_(workers) {}

  /// Wakes a worker if none is attentive. Call it after a sequentially
  /// consistent store that publishes tasks. Either this sees that no worker is
  /// attentive, or the last attentive worker sees the tasks.
  void announce() {
    if (!is_attended()) wake_one();
  }

  /// Returns whether a worker is attentive. It has the requirement of
  /// announce().
  bool is_attended() const noexcept {
    return attentive_.load(std::memory_order_seq_cst) != 0;
  }

  /// For an attentive worker that found `tasks` more, each worth a worker that
  /// may poll afterwards.
  void wake_for(std::uint64_t tasks, std::uint32_t max_polling) {
    // A guess: attentive workers take the tasks in any case.
    const std::uint32_t attentive = attentive_.load(std::memory_order_relaxed);
    if (attentive <= tasks && attentive < max_polling) wake_one();
  }

  /// For an attentive worker that found more than it can do.
  void wake_one() {
    if (sleeping_.load(std::memory_order_seq_cst) == 0) return;
    {
      const std::lock_guard lock(mutex_);
      if (sleeping_.load(std::memory_order_relaxed) == 0) return;
      ++wakeups_;
      attentive_.fetch_add(1, std::memory_order_seq_cst);
      sleeping_.fetch_sub(1, std::memory_order_seq_cst);
    }
    woken_.notify_one();
  }

  /// The caller will not look for tasks for a while. If there are some, it
  /// calls announce() after this.
  void turn_away() { attentive_.fetch_sub(1, std::memory_order_seq_cst); }
  void turn_back() { attentive_.fetch_add(1, std::memory_order_relaxed); }

  /// Returns how many poll now.
  std::uint32_t begin_polling() {
    return polling_.fetch_add(1, std::memory_order_relaxed) + 1;
  }
  void end_polling() { polling_.fetch_sub(1, std::memory_order_relaxed); }

  /// Returns when there is work or after close().
  template <typename HasWork>
  void sleep(HasWork has_work) {
    std::unique_lock lock(mutex_);
    // In this order, so that announce() never finds neither.
    sleeping_.fetch_add(1, std::memory_order_seq_cst);
    attentive_.fetch_sub(1, std::memory_order_seq_cst);
    if (!has_work()) {
      woken_.wait(lock, [this] { return wakeups_ != 0 || is_closed_; });
    }
    if (wakeups_ != 0) {
      --wakeups_;  // wake_one() has changed the counts
      return;
    }
    attentive_.fetch_add(1, std::memory_order_seq_cst);
    sleeping_.fetch_sub(1, std::memory_order_seq_cst);
  }

  /// Prevents workers from sleeping from now on.
  void close() {
    {
      const std::lock_guard lock(mutex_);
      is_closed_ = true;
    }
    woken_.notify_all();
  }

  std::uint32_t sleeping() const noexcept {
    return sleeping_.load(std::memory_order_relaxed);
  }

 private:
  alignas(64) std::atomic<std::uint32_t> attentive_;
  std::atomic<std::uint32_t> sleeping_{0};
  std::atomic<std::uint32_t> polling_{0};
  alignas(64) std::mutex mutex_;
  std::condition_variable woken_;
  std::uint32_t wakeups_ = 0;
  bool is_closed_ = false;
};

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

/// Decides whether a waiting thread polls before it sleeps. Waking takes
/// microseconds, tens of them if the processor went idle. Polling does not pay
/// for a long task, which only a trial shows (docs/lab/host.md).
class SpinPolicy {
 public:
  /// Rarely polls after some polls without success.
  bool should_spin() noexcept {
    return failures_.load(std::memory_order_relaxed) < kMaxFailures ||
           questions_.fetch_add(1, std::memory_order_relaxed) % kRetry == 0;
  }

  void note(bool has_failed) noexcept {
    if (has_failed)
      failures_.fetch_add(1, std::memory_order_relaxed);
    else
      failures_.store(0, std::memory_order_relaxed);
  }

  static constexpr std::uint32_t kMaxFailures = 4;
  static constexpr std::uint32_t kRetry = 32;

 private:
  std::atomic<std::uint32_t> failures_{0};
  std::atomic<std::uint32_t> questions_{1};
};

}  // namespace gpuos::host
