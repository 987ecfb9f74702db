#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "gpuos/export.h"

namespace gpuos {

/// Counts the objects of one kind that keep a module loaded.
struct ModuleHolder {
  std::string what;  // "operator", "JitModule", "Kernel", "session"
  std::size_t count = 0;
};

/// Describes a loaded image.
struct ModuleInfo {
  std::string name;
  int device = 0;         // -1: the host
  std::size_t bytes = 0;  // size of the image
  std::vector<ModuleHolder> holders;
};

/// Lists the modules that this process has loaded.
class GPUOS_API ModuleRegistry {
 public:
  /// Returns the modules in the order of loading. Threads: any.
  static std::vector<ModuleInfo> list();
};

}  // namespace gpuos
