#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace gpuos {

/// The variables of the environment, each as "NAME=value".
using Environment = std::vector<std::string>;

/// Reads the environment, for all readers until the next call. It is not
/// ordered with a setenv() of another thread. Only functions that the caller
/// calls may therefore call it, and never a thread of ours.
void note_environment();

/// Returns the environment that was noted last, and notes it the first time.
/// Threads: any.
std::shared_ptr<const Environment> environment();

/// Returns the value of a variable in `environment`. It is empty if there is
/// none.
std::string_view variable_of(const Environment& environment,
                             std::string_view name);

}  // namespace gpuos
