#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "modules/loaded_kernel.h"
#include "modules/loaded_module.h"
#include "session/device/closure.h"

namespace gpuos::session {

/// Holds the loaded kernels and the storage of one session.
class Device {
 public:
  /// Makes a device. `refusal` says why nothing can be loaded, and is empty if
  /// loading works.
  Device(int ordinal, std::string refusal)
      : ordinal_(ordinal), refusal_(std::move(refusal)) {}

  /// Returns the context. Throws: BackendUnavailable if nothing can be loaded.
  const cu::Context& context() const;
  /// Loads the kernel unless it is already loaded. The handle keeps the image
  /// and the storage of its variables.
  /// Throws: BackendUnavailable, CudaError.
  std::shared_ptr<const cu::LoadedKernel> load(
      const std::shared_ptr<const Linked>& linked, Linker& linker);
  /// Returns the one storage of a variable and loads it if necessary.
  /// Throws: BackendUnavailable, CudaError.
  cu::DeviceGlobal storage(const DefinitionPtr& variable, Linker& linker);
  /// Keeps the module that holds storage(). `what` is for the registry.
  std::shared_ptr<const void> owner(const DefinitionPtr& variable,
                                    std::string what) const;

  void read(const cu::DeviceGlobal& from, void* to) const;
  void write(const cu::DeviceGlobal& to, const void* from) const;
  /// Waits for the session's launches. Throws: CudaError, Cancelled.
  void synchronize() const;
  /// Unloads everything that no kernel handle and no link of the session uses.
  void collect();

  int ordinal() const { return ordinal_; }
  std::uint64_t loaded() const { return loaded_; }

 private:
  struct Loaded {
    std::weak_ptr<const Linked> linked;
    ModuleUse<cu::LoadedModule> module;
  };
  struct Storage {
    std::weak_ptr<const Definition> variable;
    ModuleUse<cu::LoadedModule> module;
  };

  std::shared_ptr<cu::LoadedModule> load_image(
      const std::string& name, std::string image,
      cu::LoadedModule::Keeps keeps = {});

  const int ordinal_;
  const std::string refusal_;
  std::map<const Linked*, Loaded> kernels_;
  std::map<const Definition*, Storage> storages_;
  std::uint64_t loaded_ = 0;
};

}  // namespace gpuos::session
