#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/quick_mutex.h"
#include "jit/module_compiler.h"
#include "modules/loaded_kernel.h"

namespace gpuos::cu {

/// Holds the handles of a JitModule's kernels. They all change to another
/// version at one moment.
///
/// Threads: one at a time, while others launch by the handles.
/// Lifetime: the handles may outlive it.
class ModuleHandles {
 public:
  using Make = std::function<std::shared_ptr<const LoadedKernel>(
      const std::string& name)>;

  std::shared_ptr<const KernelHandle> add(
      std::shared_ptr<const LoadedKernel> kernel);
  /// Calls `make` for a kernel for each living handle. A launch sees either all
  /// old kernels or all new ones.
  /// Throws: the exceptions of `make`; then nothing has changed.
  void replace(const Make& make);

 private:
  class Handle;

  // Launches use it too, and so it belongs to the handles. It is made for the
  // first one.
  std::shared_ptr<QuickMutex> mutex_;
  std::vector<std::weak_ptr<Handle>> handles_;
  std::size_t prunes_at_ = 16;
};

/// One source or image of a JitModule, and its compiled result. It is loaded at
/// its first use.
///
/// Threads: one at a time.
class ModuleVersion {
 public:
  /// `source` has no text for an image that was given.
  ModuleVersion(std::uint64_t number, int device, bool is_given,
                JitSource&& source,
                std::shared_ptr<const jit::ModuleImage> compiled)
      : number_(number),
        device_(device),
        is_given_(is_given),
        source_(std::move(source)),
        compiled_(std::move(compiled)) {}

  std::uint64_t number() const { return number_; }
  bool is_given() const { return is_given_; }
  const JitSource& source() const { return source_; }
  const std::shared_ptr<const jit::ModuleImage>& compiled() const {
    return compiled_;
  }
  bool is_loaded() const { return static_cast<bool>(loaded_); }

  /// Throws: InvalidArgument if the device does not take the image that was
  /// given, BackendUnavailable, CompileError, CudaError.
  const std::shared_ptr<LoadedModule>& load();
  /// Throws: the exceptions of load(); InvalidArgument for an unknown name.
  std::shared_ptr<const LoadedKernel> kernel(std::string_view name);
  DeviceGlobal global(std::string_view name);

 private:
  const std::string& module_name() const { return source_.name; }
  std::string symbol_of(std::string_view name) const;

  std::uint64_t number_;
  int device_;
  bool is_given_;
  JitSource source_;
  std::shared_ptr<const jit::ModuleImage> compiled_;
  ModuleUse<LoadedModule> loaded_;
};

}  // namespace gpuos::cu
