#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace gpuos::host {

/// Which batches failed. Bounded: the oldest failures are forgotten first.
///
/// Threads: any.
class FailureLog {
 public:
  static constexpr std::size_t kMaxFailures = 4096;

  /// Keeps the first failure of a batch.
  void add(std::uint64_t begin, const std::string& operator_name,
           const std::string& message);

  /// Throws: TaskError if the batch that begins at `begin` failed.
  void check(std::uint64_t begin) {
    if (has_any_.load(std::memory_order_acquire)) throw_if_failed(begin);
  }

  /// Throws TaskError for the first unreported failure, with the number of the
  /// others, and marks all as reported.
  void check_untold();

 private:
  struct Failure {
    std::string operator_name;
    std::string message;
    bool is_told = false;
  };

  void throw_if_failed(std::uint64_t begin);

  std::atomic<bool> has_any_{false};
  std::mutex mutex_;
  std::map<std::uint64_t, Failure> failures_;
};

}  // namespace gpuos::host
