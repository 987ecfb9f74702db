#pragma once

#include <map>
#include <optional>
#include <span>
#include <stop_token>
#include <string>

#include "gpuos/jit_module.h"

namespace gpuos::jit {

/// How the compiler spells the types of a source's variables, "float [4]", by
/// their names, which symbols do not tell. Empty if it does not say. Costs a
/// compilation of the source.
/// Throws: BackendUnavailable, Cancelled.
std::map<std::string, std::string> variable_types(
    const JitSource& source, std::span<const std::string> names,
    std::optional<int> compute_capability, std::stop_token stop = {});

}  // namespace gpuos::jit
