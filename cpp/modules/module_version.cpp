#include "modules/module_version.h"

#include "base/concat.h"
#include "gpuos/error.h"
#include "jit/nvrtc_api.h"
#include "jit/symbols.h"

namespace gpuos::cu {
namespace {

// Why the driver does not take an image that NVRTC made.
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
