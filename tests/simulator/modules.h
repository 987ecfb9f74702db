#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "driver/driver_types.h"
#include "simulator.h"

namespace gpuos::sim {

/// A variable of an image: real memory with its first value.
struct ModuleVariable {
  void* data = nullptr;
  std::size_t bytes = 0;
};

/// A function of a module that was asked for.
struct ModuleFunction {
  cu::CUmodule module = nullptr;
  std::string name;
  std::vector<std::size_t> parameter_bytes{};
};

/// The loaded images, and the errors in their use.
///
/// Threads: any.
class Modules {
 public:
  /// Never destroyed, as the device.
  static Modules& instance();

  cu::CUmodule load(const void* image);
  /// `waits`: events do not come now, so that the driver would wait.
  void unload(cu::CUmodule module, bool waits);
  std::optional<cu::CUfunction> function(cu::CUmodule module,
                                         const std::string& name);
  /// Empty for what the image has not.
  std::optional<ModuleVariable> variable(cu::CUmodule module,
                                         const std::string& name);
  /// Notes the launch of a user's kernel. False for one of the worker's.
  bool launch(cu::CUfunction function, cu::CUstream stream, unsigned int grid,
              unsigned int block, void** parameters);
  std::vector<std::size_t> parameter_bytes(cu::CUfunction function) const;

  ModuleCounts counts() const;
  std::vector<std::string> faults() const;

 private:
  struct Loaded {
    std::uint64_t number = 0;
    std::map<std::string, std::vector<char>> variables{};
    std::map<std::string, std::vector<std::size_t>> kernels{};  // parameters
    bool is_launched = false;
    bool is_captured = false;
  };

  mutable std::mutex mutex_;
  std::map<cu::CUmodule, Loaded> loaded_;
  std::map<cu::CUfunction, ModuleFunction> functions_;
  ModuleCounts counts_;
  std::vector<std::string> faults_;
};

}  // namespace gpuos::sim
