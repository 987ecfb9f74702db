#pragma once

#include <chrono>
#include <thread>

namespace gpuos {

/// The deadline of waits in tests. Only a failure takes as long. It is many
/// times the need of the slowest machine under load. Tests do not use time to
/// show that an event is absent. They count steps instead.
inline constexpr std::chrono::seconds kDeadline{120};

/// The same where a compiler works first.
inline constexpr std::chrono::seconds kCompileDeadline{5 * kDeadline};

/// Returns whether `condition` became true within `limit`.
template <typename Condition>
bool becomes_true(Condition condition, std::chrono::seconds limit = kDeadline) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return true;
}

}  // namespace gpuos
