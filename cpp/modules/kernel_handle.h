#pragma once

#include <memory>
#include <string>

namespace gpuos::cu {

class LoadedKernel;

/// What a Kernel holds: it may stand for another kernel at each launch.
///
/// Threads: any.
class KernelHandle {
 public:
  KernelHandle() = default;
  virtual ~KernelHandle() = default;
  KernelHandle(const KernelHandle&) = delete;
  KernelHandle& operator=(const KernelHandle&) = delete;

  /// As it was asked for.
  virtual const std::string& name() const noexcept = 0;
  /// The kernel that is launched now.
  /// Throws: what keeps it from being there.
  virtual std::shared_ptr<const LoadedKernel> current() const = 0;
};

}  // namespace gpuos::cu
