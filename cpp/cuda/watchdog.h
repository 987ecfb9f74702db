#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "queue/backend.h"
#include "queue/ring.h"

namespace gpuos::cu {

/// Holds whether the backend is dead, and why.
///
/// Threads: any.
class Health {
 public:
  bool is_dead() const noexcept { return is_dead_.load(); }
  /// Makes the runtime dead. Only the first reason counts.
  void die(std::string operator_name, std::string message);
  /// Returns whether it is dead and an operator is known to be the reason.
  bool names_operator() const;
  /// Throws: TaskError if it is dead.
  void check() const;

 private:
  std::atomic<bool> is_dead_{false};
  mutable std::mutex mutex_;
  std::string operator_name_;
  std::string message_;
};

/// Remembers tasks of whole operators while they are pending, because those may
/// fault or never end.
///
/// Threads: any. It has a separate lock, because the holder of the submit lock
/// may be in a driver call that waits for the same task.
class Watchdog {
 public:
  Watchdog(std::span<Ring* const> rings, std::chrono::milliseconds limit)
      : rings_(rings), limit_(limit) {}

  /// `tasks` of them. In the order of batches, and of a chain's members.
  void add(std::uint32_t ring, const Place& place, std::uint32_t tasks,
           const std::string& operator_name);
  bool is_empty() const;
  void limit_tasks(std::chrono::milliseconds limit) noexcept {
    if (limit < limit_.load()) limit_.store(limit);
  }
  std::chrono::milliseconds limit() const noexcept { return limit_.load(); }
  /// The operators of a batch that runs and in which no task has begun for
  /// longer than the limit.
  std::optional<std::string> find_stuck();
  /// Returns the operators that were running, or might have been. It is for a
  /// fault, which is detected late, when later members of its chain may have
  /// begun.
  std::string suspects() const;

 private:
  using Clock = std::chrono::steady_clock;

  /// The tasks of one submission, all in one batch.
  struct Tasks {
    std::uint64_t position;
    std::uint64_t batch_begin;
    std::uint32_t count;
    std::uint32_t member;  // 0, but in a chain
    std::string operator_name;
    // The record that the batch had started, in the first of its entries.
    std::uint32_t seen_started = 0;
    Clock::time_point changed{};
  };
  /// The entries of one batch follow each other.
  using Pending = std::deque<Tasks>;

  /// Calls `f` with the position and the name of each task that has begun.
  template <typename F>
  static void each_begun(const Ring& ring, Pending::const_iterator first,
                         Pending::const_iterator end, F f);
  void forget_done();

  std::span<Ring* const> rings_;
  std::atomic<std::chrono::milliseconds> limit_;
  mutable std::mutex mutex_;
  std::array<Pending, 2> pending_;  // of each ring
};

}  // namespace gpuos::cu
