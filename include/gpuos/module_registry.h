#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace gpuos {

/// A kind of object that keeps a module loaded, and their number.
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

/// The modules that this process has loaded.
class ModuleRegistry {
 public:
  /// Returns the modules in the order of loading. Threads: any.
  static std::vector<ModuleInfo> list();
};

}  // namespace gpuos
