#pragma once

#include <chrono>

namespace gpuos {

/// The deadline of waits in tests. Only a failure takes as long. It is many
/// times the need of the slowest machine under load. The absence of an event is
/// not tested by time; a test counts steps instead.
inline constexpr std::chrono::seconds kDeadline{120};

/// The same where a compiler works first.
inline constexpr std::chrono::seconds kCompileDeadline{5 * kDeadline};

}  // namespace gpuos
