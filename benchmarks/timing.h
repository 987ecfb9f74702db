#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

#include "processors.h"

namespace gpuos::bench {

using Clock = std::chrono::steady_clock;

/// All measured work takes much less time.
inline constexpr std::chrono::seconds kDeadline{20};
/// A compiler may have the lowest priority on a busy machine. A row has 90 s.
inline constexpr std::chrono::seconds kCompilerDeadline{80};

inline double us_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start)
      .count();
}

/// Runs `once` as a warm-up, then `reps` times on a processor that is not
/// disturbed, if there is one. Returns the results. After a move it repeats the
/// warm-up, because caches are empty there.
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

/// Returns microseconds of each of `reps` calls of `once(i)`. The result
/// excludes the first `warm_up` calls.
template <typename F>
std::vector<double> each_us(int reps, int warm_up, F once) {
  std::vector<double> times;
  settle();
  for (int i = 0; i < warm_up + reps; ++i) {
    const auto start = Clock::now();
    once(static_cast<std::size_t>(i));
    const double us = us_since(start);
    if (i >= warm_up) times.push_back(us);
  }
  return times;
}

}  // namespace gpuos::bench
