#pragma once

#include <atomic>
#include <cstdint>

namespace gpuos::host {

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
