#pragma once

#include <atomic>
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

}  // namespace gpuos::host
