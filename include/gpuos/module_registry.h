#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace gpuos {

/// Who keeps a module loaded, and how many of them.
struct ModuleHolder {
  std::string what;  // "operator", "JitModule", "Kernel", "session"
  std::size_t count = 0;
};

/// An image that is loaded now.
struct ModuleInfo {
  std::string name;
  int device = 0;         // -1: the host
  std::size_t bytes = 0;  // of the image
  std::vector<ModuleHolder> holders;
};

/// What this process has loaded.
class ModuleRegistry {
 public:
  /// In the order of loading. Threads: any.
  static std::vector<ModuleInfo> list();
};

}  // namespace gpuos
