#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

#include "cuda/ring_memory.h"
#include "cuda/worker_kernel.h"
#include "driver/owned.h"
#include "gpuos/options.h"

namespace gpuos::cu {

/// Workers that stay on the device until they are idle for a linger, their
/// lease is over or they are parked. The object also has the state that
/// survives them.
///
/// Threads: launch() and park() belong to the control thread.
class ResidentWorkers {
 public:
  ResidentWorkers(const WorkerKernel& kernel, const abi::Queue& queue,
                  const RuntimeOptions& options, std::uint32_t workers);

  /// `is_brief`: the workers leave as soon as no task remains.
  void launch(bool is_brief);
  /// Ask the workers to leave at their next task boundary.
  void request_park();
  /// Returns whether the workers of the last launch have left. It is true
  /// before the first launch.
  bool has_left() const noexcept {
    // Pairs with the store to `left` at the end of stay() in worker.cu.
    return std::atomic_ref(*left_.as<u64>()).load(std::memory_order_acquire) >=
           number_.load(std::memory_order_relaxed);
  }
  /// Returns the number of launches so far.
  std::uint64_t count() const noexcept { return number_.load(); }
  CUstream stream() const noexcept { return stream_.get(); }
  void abandon() noexcept;

 private:
  const WorkerKernel& kernel_;
  std::uint32_t workers_;
  std::uint32_t threads_;
  std::atomic<std::uint64_t> number_{0};
  PinnedBuffer left_;
  DeviceBuffer state_;
  DeviceBuffer claims_;
  Stream stream_;
  Stream park_stream_;
  u64 linger_ns_;
  abi::Launch launch_{};
};

/// Decides when workers stay with residency="auto". Staying halves a round trip
/// but makes foreign matmuls wait for a linger. It therefore needs a pattern:
/// the host submits a few tasks and waits for them, repeatedly, faster than the
/// linger.
///
/// Threads: holds the submit lock.
class StayPolicy {
 public:
  /// Tasks of one submission that still count as few.
  static constexpr std::uint32_t kFewTasks = 8;
  /// Consecutive awaited submissions until the workers stay.
  static constexpr std::uint32_t kStreak = 8;

  /// Tasks of a residency that paid. With fewer, other code waited without a
  /// gain, for example if a matmul runs between the tasks. The next one then
  /// needs kPatience times as many waits.
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

  /// Called when resident workers have left for good. Their last residency
  /// served `tasks`.
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
