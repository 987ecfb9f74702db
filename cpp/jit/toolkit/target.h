#pragma once

#include <string>

#include "jit/toolkit/nvrtc_api.h"

namespace gpuos::jit {

/// Names the oldest device that runs a worker. Older ones lack the memory model
/// of the queue's loads, stores and fences (docs/toolkits.md).
inline constexpr int kOldestDevice = 70;

/// Holds the request to NVRTC for one device.
struct Target {
  std::string arch;  // "sm_90", or "compute_90" for PTX
  bool is_ptx = false;
  std::string link_arch;  // "sm_90": the target of the linked CUBIN
};

/// Returns the device's own CUBIN, or the CUBIN of the highest lower device of
/// its generation. Otherwise returns PTX of the highest lower one.
/// GPUOS_NVRTC_ARCH (`override_arch`) wins if it is not empty.
/// Throws: InvalidArgument for an override that is no architecture,
/// BackendUnavailable if NVRTC is too new for the device.
Target choose_target(const Nvrtc& api, int compute_capability,
                     const std::string& override_arch);

}  // namespace gpuos::jit
