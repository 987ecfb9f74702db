#pragma once

#include <chrono>

namespace gpuos {

/// How long a test waits for what must come. Only a failure takes as long: it
/// is many times what the slowest machine needs while its processors are busy
/// with something else. What must not come is no matter of time; a test counts
/// steps instead.
inline constexpr std::chrono::seconds kDeadline{120};

/// The same where a compiler works first.
inline constexpr std::chrono::seconds kCompileDeadline{5 * kDeadline};

}  // namespace gpuos
