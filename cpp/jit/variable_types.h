#pragma once

#include <map>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

#include "gpuos/jit_module.h"
#include "jit/image.h"

namespace gpuos::jit {

/// Follows a source. After this code a name expression asks for a variable's
/// type, and the compiler answers "float [4]". The answer is empty if the
/// compiler does not say.
inline constexpr const char* kTypeSpeller =
    "\ntemplate <typename T> __global__ void gpuos_type_of() {}\n";
std::string type_question(std::string_view name);
std::string type_answer(std::span<const LoweredName> symbols,
                        std::string_view name);

/// Returns the types of a source's variables by name, as the compiler writes
/// them: "float [4]". Symbols do not contain these types. Returns an empty map
/// if the compiler does not say. This costs a compilation of the source.
/// Throws: BackendUnavailable, Cancelled.
std::map<std::string, std::string> variable_types(
    const JitSource& source, std::span<const std::string> names,
    std::optional<int> compute_capability, std::stop_token stop = {});

}  // namespace gpuos::jit
