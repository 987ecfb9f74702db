#pragma once

#include <string>

#include "jit/nvrtc_api.h"

namespace gpuos::jit {

/// The headers of CUDA and CCCL that NVRTC carries in itself, from 13.3 on.
struct BundledHeaders {
  bool is_available = false;
  std::string version;  // "13.5"
  std::string folder;   // where they are unpacked, in the disk cache's folder
  bool is_unpacked = false;
  std::string problem;  // why they cannot be unpacked
};

/// Looks only.
BundledHeaders find_bundled_headers(const Nvrtc& api);

/// Unpacks them where that was not done yet: 0.1 to 0.3 s and 25 MB once. A
/// failure is told in `problem`.
/// Threads: any; processes that do it at the same time wait for each other.
BundledHeaders unpack_bundled_headers(const Nvrtc& api);

}  // namespace gpuos::jit
