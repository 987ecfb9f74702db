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

/// Code behind which a name expression asks for a variable's type, and what the
/// compiler answers: "float [4]"; empty if it does not say.
inline constexpr const char* kTypeSpeller =
    "\ntemplate <typename T> __global__ void gpuos_type_of() {}\n";
std::string type_question(std::string_view name);
std::string type_answer(std::span<const LoweredName> symbols,
                        std::string_view name);

/// How the compiler spells the types of a source's variables, "float [4]", by
/// their names, which symbols do not tell. Empty if it does not say. Costs a
/// compilation of the source.
/// Throws: BackendUnavailable, Cancelled.
std::map<std::string, std::string> variable_types(
    const JitSource& source, std::span<const std::string> names,
    std::optional<int> compute_capability, std::stop_token stop = {});

}  // namespace gpuos::jit
