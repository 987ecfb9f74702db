#include "gpuos/jit_module.h"

#include <mutex>

#include "base/concat.h"
#include "gpuos/error.h"
#include "jit/compile_pool.h"
#include "jit/module_compiler.h"
#include "jit/nvrtc_api.h"
#include "jit/symbols.h"
#include "modules/loaded_kernel.h"

namespace gpuos {
namespace {

using cu::LoadedKernel;
using cu::LoadedModule;

// Why the driver does not take an image that NVRTC made.
bool is_misfit(int code) {
  return code == cu::CUDA_ERROR_NO_BINARY_FOR_GPU ||
         code == cu::CUDA_ERROR_INVALID_PTX ||
         code == cu::CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
}

[[noreturn]] void explain_misfit(const CudaError& error,
                                 const std::string& name, int device,
                                 const std::string& arch) {
  const cu::Context& context = cu::device_context(device);
  int driver_version = 0;
  cu::driver().cuDriverGetVersion(&driver_version);
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

}  // namespace

struct JitModule::State {
  std::string name;
  int device = 0;
  std::shared_ptr<const jit::ModuleImage> compiled;

  mutable std::mutex mutex;
  mutable ModuleUse<LoadedModule> loaded;  // under mutex

  std::shared_ptr<LoadedModule> load() const {
    const std::lock_guard lock(mutex);
    if (!loaded) {
      // The image lives as long as what was compiled.
      const std::shared_ptr<const std::string> image(compiled,
                                                     &compiled->image.binary);
      try {
        loaded = {LoadedModule::load(device, name, image), "JitModule"};
      } catch (const CudaError& error) {
        if (!is_misfit(error.code())) throw;
        explain_misfit(error, name, device, compiled->target.arch);
      }
    }
    return loaded.shared();
  }

  std::string symbol_of(std::string_view wanted) const {
    return jit::resolve_name(compiled->image, wanted, name);
  }

  cu::DeviceGlobal global(std::string_view wanted) const {
    const std::string symbol = symbol_of(wanted);
    try {
      return load()->global(symbol);
    } catch (const CudaError& error) {
      if (error.code() != cu::CUDA_ERROR_NOT_FOUND) throw;
      throw InvalidArgument(
          concat(name, ": expected the name of a variable, got '", wanted,
                 "'; NVRTC keeps a variable that is in name_expressions"));
    }
  }
};

JitModule::JitModule(JitSource source, int device, std::stop_token stop) {
  const auto state = std::make_shared<State>();
  state->name = source.name;
  state->device = device;
  state->compiled = jit::compile_module(
      source, cu::try_compute_capability(device), std::move(stop));
  state_ = state;
}

Kernel JitModule::kernel(std::string_view name) const {
  const std::string symbol = state_->symbol_of(name);
  return Kernel(std::make_shared<const LoadedKernel>(
      ModuleUse<LoadedModule>(state_->load(), "Kernel"), std::string(name),
      symbol));
}

void* JitModule::global_address(std::string_view name) const {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the driver gives an integer
  return reinterpret_cast<void*>(state_->global(name).address);
}

std::size_t JitModule::global_bytes(std::string_view name) const {
  return state_->global(name).bytes;
}

const std::string& JitModule::image() const {
  return state_->compiled->image.binary;
}

const std::string& JitModule::log() const {
  return state_->compiled->image.log;
}

const std::string& JitModule::arch() const {
  return state_->compiled->target.arch;
}

const std::string& JitModule::name() const { return state_->name; }

std::future<JitModule> compile_async(JitSource source, int device,
                                     std::stop_token stop) {
  const auto promise = std::make_shared<std::promise<JitModule>>();
  jit::CompilePool::instance().post(
      [promise, source = std::move(source), device, stop = std::move(stop)] {
        try {
          promise->set_value(JitModule(source, device, stop));
        } catch (...) {
          promise->set_exception(std::current_exception());
        }
      });
  return promise->get_future();
}

}  // namespace gpuos
