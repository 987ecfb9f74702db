#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "jit/unit_compiler.h"

namespace gpuos::jit {

/// Link relocatable objects into one CUBIN: by nvJitLink, or by the driver if
/// there is no nvJitLink that fits `api` or it does not know the device.
///
/// The objects need a kernel from which everything is reached. Without one the
/// linker drops the functions that operators call and leaves calls of address
/// 0, with no error.
/// Throws: CompileError with the log, BackendUnavailable without any linker.
std::string link_objects(const Nvrtc& api, std::span<const Object> objects,
                         const Target& target, std::uint32_t max_registers);

/// Optimise LTO-IR together: one PTX that is linked with others. Functions that
/// only these objects call become parts of those that call them.
/// Throws: CompileError with the log, BackendUnavailable without an nvJitLink.
Object link_time_optimized(const Nvrtc& api, std::span<const Object> objects,
                           const Target& target);

/// How nvJitLink is called; `max_registers` counts for PTX alone.
std::vector<std::string> link_options(const Target& target, bool has_ptx,
                                      std::uint32_t max_registers);

}  // namespace gpuos::jit
