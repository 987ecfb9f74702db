#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>

namespace gpuos::cu {

/// When residency="auto" lets workers stay. Staying makes a round trip half as
/// long but keeps everybody's matmuls waiting for a linger, so it must be
/// earned: the host submits a few tasks and waits for them, again and again,
/// faster than the linger.
///
/// Threads: the submit lock.
class StayPolicy {
 public:
  /// Tasks of one submission that still count as few.
  static constexpr std::uint32_t kFewTasks = 8;
  /// Submissions waited for in turns until the workers stay.
  static constexpr std::uint32_t kStreak = 8;

  /// Tasks of a residency that was worth it. One that served fewer kept others
  /// waiting for nothing, as when a matmul runs between the tasks; the next
  /// must be earned kPatience times as hard.
  static constexpr std::uint64_t kWorthwhile = 64;
  static constexpr std::uint32_t kPatience = 4;
  static constexpr std::uint32_t kMaxStreak = 1u << 20;

  explicit StayPolicy(std::chrono::microseconds linger) : linger_(linger) {}

  /// The host began to wait for a burst of `tasks`. True: stay from now on.
  bool note_wait(std::uint32_t tasks) {
    const auto now = std::chrono::steady_clock::now();
    const bool goes_on = tasks <= kFewTasks && now - last_ < linger_;
    streak_ = goes_on ? streak_ + 1 : 0;
    last_ = now;
    return streak_ >= needed_;
  }

  /// Workers that stayed have left for good; the last residency of them served
  /// `tasks`.
  void end_stay(std::uint64_t tasks) {
    streak_ = 0;
    needed_ = tasks >= kWorthwhile ? kStreak
                                   : std::min(needed_ * kPatience, kMaxStreak);
  }

 private:
  std::chrono::microseconds linger_;
  std::chrono::steady_clock::time_point last_{};
  std::uint32_t streak_ = 0;
  std::uint32_t needed_ = kStreak;
};

}  // namespace gpuos::cu
