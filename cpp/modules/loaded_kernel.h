#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "gpuos/jit_module.h"
#include "modules/bind_arguments.h"
#include "modules/loaded_module.h"

namespace gpuos::cu {

class LoadedKernel;

/// A Kernel's implementation, which may launch another kernel each time.
///
/// Threads: any.
class KernelHandle {
 public:
  KernelHandle() = default;
  virtual ~KernelHandle() = default;
  KernelHandle(const KernelHandle&) = delete;
  KernelHandle& operator=(const KernelHandle&) = delete;

  /// Returns the name by which it was asked for.
  virtual const std::string& name() const noexcept = 0;
  /// Returns the kernel that is launched now.
  /// Throws: the error of loading it.
  virtual std::shared_ptr<const LoadedKernel> current() const = 0;
};

/// A kernel and the module that it needs. Its handle never changes.
///
/// Threads: any.
class LoadedKernel final : public KernelHandle,
                           public std::enable_shared_from_this<LoadedKernel> {
 public:
  /// `name` is for messages.
  /// Throws: InvalidArgument if `symbol` is no kernel, CudaError.
  LoadedKernel(ModuleUse<LoadedModule> module, std::string name,
               const std::string& symbol);

  const std::string& name() const noexcept override { return name_; }
  std::shared_ptr<const LoadedKernel> current() const override {
    return shared_from_this();
  }
  const ParameterList& parameters() const noexcept { return parameters_; }
  KernelAttributes attributes() const;
  void launch(const LaunchConfig& config, const KernelArgs& args) const;
  int max_active_blocks(int block, std::size_t shared_bytes) const;
  Occupancy suggest_block(std::size_t shared_bytes) const;

 private:
  int attribute(CUfunction_attribute which) const;
  void check(const LaunchConfig& config) const;
  void launch_in(CUstream stream, const LaunchConfig& config,
                 BoundArguments& bound) const;
  void allow_shared(std::uint32_t bytes) const;

  const ModuleUse<LoadedModule> module_;
  const std::string name_;
  CUfunction function_ = nullptr;
  ParameterList parameters_;
  int max_threads_ = 0;
  // Dynamic shared memory that launches may ask for now.
  mutable std::atomic<std::uint32_t> allowed_shared_;
};

/// Returns the handle of a stream. An unnamed one is the legacy default stream.
CUstream handle_of(const gpuos::Stream& stream);

}  // namespace gpuos::cu
