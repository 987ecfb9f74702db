#include "gpuos/jit_module.h"

#include <fstream>
#include <iterator>
#include <mutex>

#include "base/concat.h"
#include "gpuos/error.h"
#include "jit/compile_pool.h"
#include "jit/given_image.h"
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

// The same of an image that was given.
[[noreturn]] void explain_given_misfit(const CudaError& error,
                                       const std::string& name, int device,
                                       const std::string& arch) {
  const cu::Context& context = cu::device_context(device);
  throw InvalidArgument(concat(name, ": expected an image that runs on ",
                               context.name(), " (sm_",
                               context.compute_capability(), "), got one for ",
                               arch, ": ", error.what()));
}

std::string file_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes(std::istreambuf_iterator<char>(file), {});
  if (!file)
    throw InvalidArgument(
        concat("JitModule: expected a file that can be read, got ", path));
  return bytes;
}

}  // namespace

struct JitModule::State {
  std::string name;
  int device = 0;
  bool is_given = false;  // an image that somebody else compiled
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
        if (is_given)
          explain_given_misfit(error, name, device, compiled->target.arch);
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

JitModule JitModule::from_image(std::string image, std::string name,
                                int device) {
  const auto state = std::make_shared<State>();
  state->compiled = std::make_shared<const jit::ModuleImage>(
      jit::read_image(std::move(image), name));
  state->name = std::move(name);
  state->device = device;
  state->is_given = true;
  return JitModule(state);
}

JitModule JitModule::from_file(const std::string& path, int device) {
  return from_image(file_bytes(path), path.substr(path.rfind('/') + 1), device);
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

void JitModule::read(std::string_view name, void* to, std::size_t bytes) const {
  const cu::DeviceGlobal from = state_->global(name);
  cu::check_bytes(from, bytes, concat(state_->name, ": ", name));
  cu::read_global(state_->load()->context(), from, to);
}

void JitModule::write(std::string_view name, const void* from,
                      std::size_t bytes) const {
  const cu::DeviceGlobal to = state_->global(name);
  cu::check_bytes(to, bytes, concat(state_->name, ": ", name));
  cu::write_global(state_->load()->context(), to, from);
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
