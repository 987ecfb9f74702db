#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "jit/unit_compiler.h"

namespace gpuos::jit {

/// Links relocatable objects into one CUBIN with nvJitLink. Uses the driver if
/// no nvJitLink fits `api` or it does not know the device.
///
/// The objects need a kernel that reaches all functions. Without one the linker
/// drops the functions that operators call. It then leaves calls of address 0,
/// with no error.
/// Throws: CompileError with the log, BackendUnavailable without any linker.
std::string link_objects(const Nvrtc& api, std::span<const Object> objects,
                         const Target& target, std::uint32_t max_registers);

/// Optimises LTO-IR together into one PTX that is linked with others. Functions
/// that only these objects call become parts of their callers.
/// Throws: CompileError with the log, BackendUnavailable without an nvJitLink.
Object link_time_optimized(const Nvrtc& api, std::span<const Object> objects,
                           const Target& target);

/// Returns the options of nvJitLink. `max_registers` counts for PTX alone.
std::vector<std::string> link_options(const Target& target, bool has_ptx,
                                      std::uint32_t max_registers);

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
