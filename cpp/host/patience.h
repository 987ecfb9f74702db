#pragma once

#include <atomic>
#include <cstdint>

namespace gpuos::host {

/// Decides whether a waiting thread polls before it sleeps. Waking takes
/// microseconds, tens of them if the processor went idle. Polling does not pay
/// for a long task, which only a trial shows (docs/lab/host.md).
class Patience {
 public:
  /// Rarely polls after some polls without success.
  bool is_worth_it() noexcept {
    return in_vain_.load(std::memory_order_relaxed) < kMostInVain ||
           asked_.fetch_add(1, std::memory_order_relaxed) % kRetry == 0;
  }

  void note(bool was_in_vain) noexcept {
    if (was_in_vain)
      in_vain_.fetch_add(1, std::memory_order_relaxed);
    else
      in_vain_.store(0, std::memory_order_relaxed);
  }

  static constexpr std::uint32_t kMostInVain = 4;
  static constexpr std::uint32_t kRetry = 32;

 private:
  std::atomic<std::uint32_t> in_vain_{0};
  std::atomic<std::uint32_t> asked_{1};
};

}  // namespace gpuos::host
