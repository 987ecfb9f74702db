#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "jit/unit_compiler.h"

namespace gpuos::jit {

/// Links with the driver. Returns nothing if there is no driver or no device
/// for `target`.
/// Throws: CompileError with the log.
std::optional<std::string> link_by_driver(std::span<const Object> objects,
                                          const Target& target,
                                          std::uint32_t max_registers);

/// Returns describe_file() of the driver's library, or an empty text without
/// one.
std::string driver_linker_file();

}  // namespace gpuos::jit
