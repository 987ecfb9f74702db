#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/quick_mutex.h"
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

}  // namespace gpuos::cu
