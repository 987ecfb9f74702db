#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "queue/ring.h"

namespace gpuos::cu {

/// Whether the backend is dead, and why.
///
/// Threads: any.
class Health {
 public:
  bool is_dead() const noexcept { return is_dead_.load(); }
  /// Only the first reason counts.
  void die(std::string operator_name, std::string message);
  /// Throws: TaskError if it is dead.
  void check() const;

 private:
  std::atomic<bool> is_dead_{false};
  mutable std::mutex mutex_;
  std::string operator_name_;
  std::string message_;
};

/// Remembers tasks of whole operators while they are pending: those may fault
/// or never end.
///
/// Threads: the submit lock.
class Watchdog {
 public:
  Watchdog(std::span<Ring* const> rings, std::chrono::milliseconds limit)
      : rings_(rings), limit_(limit) {}

  void add(std::uint32_t ring, std::uint64_t position,
           std::uint64_t batch_begin, const std::string& operator_name);
  bool is_empty() const noexcept { return tasks_.empty(); }
  /// The operator of a task that has run for longer than the limit.
  std::optional<std::string> find_stuck();
  /// The operators that were running, or might have been: for a fault.
  std::string suspects();

 private:
  struct Task {
    std::uint32_t ring;
    std::uint64_t position;
    std::uint64_t batch_begin;
    std::string operator_name;
    std::optional<std::chrono::steady_clock::time_point> seen_running;
  };

  bool is_done(const Task& task) const;
  void forget_done();

  std::span<Ring* const> rings_;
  std::chrono::milliseconds limit_;
  std::deque<Task> tasks_;
};

}  // namespace gpuos::cu
