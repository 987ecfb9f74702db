#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

#include "processors.h"

namespace gpuos::bench {

using Clock = std::chrono::steady_clock;

/// Nothing that is measured here takes nearly as long.
inline constexpr std::chrono::seconds kDeadline{20};

inline double us_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start)
      .count();
}

/// The value that `part` of all are at most; 0 without any.
inline double quantile(std::vector<double> values, double part) {
  if (values.empty()) return 0;
  const auto index = static_cast<std::size_t>(
      part * static_cast<double>(values.size() - 1) + 0.5);
  std::ranges::sort(values);
  return values[index];
}

inline double median(const std::vector<double>& values) {
  return quantile(values, 0.5);
}

/// Runs `once` without looking, then `reps` times on a processor that is not
/// disturbed, if there is one; what it returned. After a move it runs once more
/// without looking: caches are empty there.
template <typename F>
auto repeat(int reps, F once) {
  static_cast<void>(once());
  std::vector<decltype(once())> values;
  for (int i = 0; i < reps; ++i) {
    if (settle()) static_cast<void>(once());
    values.push_back(once());
  }
  return values;
}

}  // namespace gpuos::bench
