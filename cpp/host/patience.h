#pragma once

#include <atomic>
#include <cstdint>

namespace gpuos::host {

/// Whether one who waits had better poll for a while before it sleeps. To be
/// woken takes microseconds, tens of them if the processor went idle. But
/// polling is in vain if the task is a long one; only trying tells
/// (docs/lab/host.md).
class Patience {
 public:
  /// After some polls in vain only now and then.
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
