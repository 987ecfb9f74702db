#include "modules/module_version.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "base/concat.h"
#include "gpuos/error.h"
#include "jit/symbols.h"
#include "jit/toolkit/nvrtc_api.h"

namespace gpuos::cu {
namespace {

// Returns whether the driver refuses the machine code or PTX that NVRTC made.
bool is_misfit(int code) {
  return code == CUDA_ERROR_NO_BINARY_FOR_GPU ||
         code == CUDA_ERROR_INVALID_PTX ||
         code == CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
}

[[noreturn]] void explain_misfit(const CudaError& error,
                                 const std::string& name, int device,
                                 const std::string& arch) {
  const Context& context = device_context(device);
  int driver_version = 0;
  driver().cuDriverGetVersion(&driver_version);
  const jit::Nvrtc& nvrtc = jit::nvrtc();
  throw BackendUnavailable(concat(
      name, ": NVRTC ", nvrtc.major, ".", nvrtc.minor, " (", nvrtc.path,
      ") compiled it for ", arch, ", but the device is ", context.name(),
      " (sm_", context.compute_capability(), ") with a driver of CUDA ",
      driver_version / 1000, ".", driver_version % 1000 / 10, ": ",
      error.what(), "; install a newer driver, or an NVRTC of its version: ",
      "pip install nvidia-cuda-nvrtc==", driver_version / 1000, ".",
      driver_version % 1000 / 10, ".*"));
}

// Explains a misfit of an image that was given.
[[noreturn]] void explain_given_misfit(const CudaError& error,
                                       const std::string& name, int device,
                                       const std::string& arch) {
  const Context& context = device_context(device);
  throw InvalidArgument(concat(name, ": expected an image that runs on ",
                               context.name(), " (sm_",
                               context.compute_capability(), "), got one for ",
                               arch, ": ", error.what()));
}

}  // namespace

class ModuleHandles::Handle final : public KernelHandle {
 public:
  Handle(std::shared_ptr<QuickMutex> mutex,
         std::shared_ptr<const LoadedKernel> kernel)
      : mutex_(std::move(mutex)),
        name_(kernel->name()),
        kernel_(std::move(kernel)) {}

  const std::string& name() const noexcept override { return name_; }
  std::shared_ptr<const LoadedKernel> current() const override {
    const std::lock_guard lock(*mutex_);
    return kernel_;
  }
  /// Swaps the kernels. The caller holds the mutex.
  void swap(std::shared_ptr<const LoadedKernel>& other) noexcept {
    kernel_.swap(other);
  }

 private:
  const std::shared_ptr<QuickMutex> mutex_;
  const std::string name_;
  std::shared_ptr<const LoadedKernel> kernel_;  // under *mutex_
};

std::shared_ptr<const KernelHandle> ModuleHandles::add(
    std::shared_ptr<const LoadedKernel> kernel) {
  if (handles_.size() >= prunes_at_) {
    std::erase_if(handles_,
                  [](const auto& handle) { return handle.expired(); });
    prunes_at_ = std::max(prunes_at_, 2 * handles_.size());
  }
  if (mutex_ == nullptr) mutex_ = std::make_shared<QuickMutex>();
  const auto handle = std::make_shared<Handle>(mutex_, std::move(kernel));
  handles_.push_back(handle);
  return handle;
}

void ModuleHandles::replace(const Make& make) {
  std::vector<std::shared_ptr<Handle>> live;
  std::vector<std::shared_ptr<const LoadedKernel>> kernels;
  for (const auto& each : handles_) {
    std::shared_ptr<Handle> handle = each.lock();
    if (handle == nullptr) continue;
    kernels.push_back(make(handle->name()));
    live.push_back(std::move(handle));
  }
  if (live.empty()) return;
  // The old kernels are released after the lock.
  const std::lock_guard lock(*mutex_);
  for (std::size_t i = 0; i < live.size(); ++i) live[i]->swap(kernels[i]);
}

const std::shared_ptr<LoadedModule>& ModuleVersion::load() {
  if (loaded_) return loaded_.shared();
  // The image lives as long as the compiled result.
  const std::shared_ptr<const std::string> image(compiled_,
                                                 &compiled_->image.binary);
  try {
    loaded_ = {LoadedModule::load(device_, module_name(), image), "JitModule"};
  } catch (const CudaError& error) {
    if (!is_misfit(error.code())) throw;
    const std::string& arch = compiled_->target.arch;
    if (is_given_) explain_given_misfit(error, module_name(), device_, arch);
    explain_misfit(error, module_name(), device_, arch);
  }
  // A module that was replaced will be replaced again.
  if (number_ > 1) loaded_->launches().follow();
  return loaded_.shared();
}

std::string ModuleVersion::symbol_of(std::string_view name) const {
  return jit::resolve_name(compiled_->image, name, module_name());
}

std::shared_ptr<const LoadedKernel> ModuleVersion::kernel(
    std::string_view name) {
  const std::string symbol = symbol_of(name);
  return std::make_shared<const LoadedKernel>(
      ModuleUse<LoadedModule>(load(), "Kernel"), std::string(name), symbol);
}

DeviceGlobal ModuleVersion::global(std::string_view name) {
  const std::string symbol = symbol_of(name);
  try {
    return load()->global(symbol);
  } catch (const CudaError& error) {
    if (error.code() != CUDA_ERROR_NOT_FOUND) throw;
    throw InvalidArgument(
        concat(module_name(), ": expected the name of a variable, got '", name,
               "'; NVRTC keeps a variable that is in name_expressions"));
  }
}

}  // namespace gpuos::cu
