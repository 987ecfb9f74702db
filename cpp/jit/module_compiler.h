#pragma once

#include <memory>
#include <optional>
#include <stop_token>

#include "gpuos/jit_module.h"
#include "jit/image.h"
#include "jit/target.h"

namespace gpuos::jit {

/// A whole module for one kind of device.
struct ModuleImage {
  Image image;
  Target target;
};

/// Compile with NVRTC, or take what this process or the disk cache has.
///
/// `compute_capability` is the device's; without one the architecture of
/// GPUOS_NVRTC_ARCH or the newest that NVRTC knows is taken.
///
/// Threads: any; no lock is held while NVRTC runs; a request that is being
/// compiled already is waited for.
/// Throws: InvalidArgument, CompileError, BackendUnavailable; Cancelled soon
/// after `stop`.
std::shared_ptr<const ModuleImage> compile_module(
    const JitSource& source, std::optional<int> compute_capability,
    std::stop_token stop = {});

}  // namespace gpuos::jit
