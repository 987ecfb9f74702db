#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>

namespace gpuos::cu {

/// Flushes that could not be launched. Their tasks count as done, so waits end.
/// Waiters get the reason.
///
/// Threads: any.
class FlushFailures {
 public:
  /// Must be called before the flush is marked done.
  void add(std::uint64_t begin, std::exception_ptr why);
  /// Throws why the flush that began at `begin` was not launched, each time.
  void check(std::uint64_t begin) {
    if (has_any_.load(std::memory_order_acquire)) find(begin);
  }
  /// Throws the oldest unreported failure.
  void check_all() {
    if (has_any_.load(std::memory_order_acquire)) find_untold();
  }

 private:
  struct Failure {
    std::uint64_t begin;
    std::exception_ptr why;
    bool is_told;
  };
  /// Older failures are forgotten.
  static constexpr std::size_t kRemembered = 4096;

  void find(std::uint64_t begin);
  void find_untold();

  std::atomic<bool> has_any_{false};
  std::mutex mutex_;
  std::deque<Failure> failures_;
};

}  // namespace gpuos::cu
