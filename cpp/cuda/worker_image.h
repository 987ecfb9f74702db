#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gpuos/options.h"

namespace gpuos::cu {

/// An image for cuModuleLoadData().
struct LoadableWorker {
  std::string binary;
  std::string kind;  // "embedded", "ptx" or "nvrtc"
};

/// Throws: BackendUnavailable if no worker runs on such a device.
void check_capability(int compute_capability);

/// The worker of one kind, not Auto. An embedded image may still be refused by
/// the driver, with CUDA_ERROR_NO_BINARY_FOR_GPU, when it has no code for the
/// device.
/// Throws: BackendUnavailable if this library or machine has no such image,
/// CompileError if making it failed.
LoadableWorker make_worker_image(WorkerImage kind, int compute_capability);

/// The architectures that a fat image has code for, such as "sm_80". Empty for
/// other images.
std::vector<std::string> architectures_of(std::string_view fat_image);

}  // namespace gpuos::cu
