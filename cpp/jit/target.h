#pragma once

#include <string>

#include "jit/nvrtc_api.h"

namespace gpuos::jit {

/// The first device with the memory model that the queue's loads, stores and
/// fences name (docs/toolkits.md): none older runs a worker.
inline constexpr int kOldestDevice = 70;

/// The request to NVRTC for one device.
struct Target {
  std::string arch;  // "sm_90", or "compute_90" for PTX
  bool is_ptx = false;
  std::string link_arch;  // "sm_90": what the linked CUBIN is for
};

/// The device's own CUBIN, else the CUBIN of the highest lower device of the
/// same generation, else PTX of the highest lower one. GPUOS_NVRTC_ARCH
/// (`override_arch`) wins if it is not empty.
/// Throws: InvalidArgument for an override that is no architecture,
/// BackendUnavailable if NVRTC is too new for the device.
Target choose_target(const Nvrtc& api, int compute_capability,
                     const std::string& override_arch);

}  // namespace gpuos::jit
