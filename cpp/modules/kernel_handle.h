#pragma once

#include <memory>
#include <string>

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
  /// Returns the kernel that launches use now.
  /// Throws: the error that prevented its load.
  virtual std::shared_ptr<const LoadedKernel> current() const = 0;
};

}  // namespace gpuos::cu
