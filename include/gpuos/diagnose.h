#pragma once

#include <string>
#include <vector>

#include "gpuos/export.h"

namespace gpuos {

/// Describes one thing that gpuos looked for on this machine.
struct Finding {
  std::string what;  // "driver", "device 0", "nvrtc", "nvrtc builtins",
                     // "nvjitlink", "cuda headers", "cccl headers",
                     // "bundled headers", "compiler", "worker image", "cache",
                     // "read-only cache"
  bool found = false;
  std::string version;  // empty if unknown
  std::string where;    // a path, or empty
  std::string hint;     // what to install or change when it is missing
  std::vector<std::string> searched{};  // places, best first
};

/// Returns which parts were found, where, and what to install. Never throws for
/// a missing part.
GPUOS_API std::vector<Finding> diagnose();

/// Adds a folder with CUDA libraries, such as a wheel's, or the folder `nvidia`
/// of all wheels. Folders are searched in the order of these calls.
/// Threads: any.
GPUOS_API void add_library_dir(std::string path);

}  // namespace gpuos
