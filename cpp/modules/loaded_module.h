#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "driver/context.h"
#include "modules/launch_record.h"
#include "modules/module_record.h"

namespace gpuos::cu {

/// A variable of a module.
struct DeviceGlobal {
  CUdeviceptr address = 0;
  std::size_t bytes = 0;
};

/// Copies of a whole variable, after the kernels that run now.
/// Throws: CudaError.
void read_global(const Context& context, const DeviceGlobal& from, void* to);
void write_global(const Context& context, const DeviceGlobal& to,
                  const void* from);

/// Throws: InvalidArgument, naming both sizes, if the size of `global` is not
/// `bytes`.
void check_bytes(const DeviceGlobal& global, std::size_t bytes,
                 std::string_view name);

/// The device's context, made at the first call and kept for ever.
/// Throws: BackendUnavailable, CudaError; InvalidArgument for no such device.
const Context& device_context(int ordinal);

/// major * 10 + minor; empty without a GPU.
/// Throws: InvalidArgument for no such device.
std::optional<int> try_compute_capability(int ordinal);

/// An image on a device. All of its kernels are loaded with it, so that no
/// launch has to.
///
/// Threads: any.
/// Lifetime: unloaded after the last reference, when its launches have ended
/// and no worker stays; never, if a graph has captured one of them.
class LoadedModule {
 public:
  using Keeps = std::vector<std::shared_ptr<const void>>;

  /// Parks the workers that stay on the device meanwhile. `keeps`: what the
  /// image has addresses of.
  /// Throws: BackendUnavailable, CudaError.
  static std::shared_ptr<LoadedModule> load(
      int ordinal, std::string name, std::shared_ptr<const std::string> image,
      Keeps keeps = {});
  /// Wraps a module that the driver has loaded.
  LoadedModule(const Context& context, CUmodule module, std::string name,
               std::size_t bytes, Keeps keeps);
  ~LoadedModule();
  LoadedModule(const LoadedModule&) = delete;
  LoadedModule& operator=(const LoadedModule&) = delete;

  const Context& context() const noexcept { return context_; }
  ModuleRecord& record() noexcept { return record_; }
  LaunchRecord& launches() const noexcept { return *launches_; }

  /// Throws: CudaError, CUDA_ERROR_NOT_FOUND if there is none.
  CUfunction function(const std::string& symbol) const;
  DeviceGlobal global(const std::string& symbol) const;

 private:
  const Context& context_;
  const CUmodule module_;
  const std::uint32_t generation_;
  ModuleRecord record_;
  std::unique_ptr<LaunchRecord> launches_ = std::make_unique<LaunchRecord>();
  Keeps keeps_;
};

}  // namespace gpuos::cu
