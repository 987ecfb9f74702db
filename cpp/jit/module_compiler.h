#pragma once

#include <memory>
#include <optional>
#include <stop_token>

#include "gpuos/jit_module.h"
#include "jit/objects/image.h"
#include "jit/toolkit/target.h"

namespace gpuos::jit {

/// Holds a whole module for one kind of device.
struct ModuleImage {
  Image image;
  Target target;
};

/// Compiles with NVRTC, or takes the image from this process or the disk cache.
///
/// `compute_capability` is the device's. Without one, the function takes
/// GPUOS_NVRTC_ARCH or the newest architecture that NVRTC knows.
///
/// Threads: any. No lock is held while NVRTC runs. A request that is being
/// compiled already is waited for.
/// Throws: InvalidArgument, CompileError, BackendUnavailable. Throws Cancelled
/// soon after `stop`.
std::shared_ptr<const ModuleImage> compile_module(
    const JitSource& source, std::optional<int> compute_capability,
    std::stop_token stop = {});

}  // namespace gpuos::jit
