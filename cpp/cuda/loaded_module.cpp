#include "cuda/loaded_module.h"

#include <vector>

#include "cuda/check.h"
#include "cuda/parking.h"
#include "fork_guard.h"

namespace gpuos::cu {
namespace {

// Loaded at their first launch they would wait for whatever runs then.
void load_functions(CUmodule module) {
  const DriverApi& api = driver();
  if (api.cuModuleGetFunctionCount == nullptr ||
      api.cuModuleEnumerateFunctions == nullptr || api.cuFuncLoad == nullptr)
    return;
  unsigned int count = 0;
  GPUOS_CUDA_CHECK(api.cuModuleGetFunctionCount(&count, module));
  std::vector<CUfunction> functions(count);
  if (count == 0) return;
  GPUOS_CUDA_CHECK(
      api.cuModuleEnumerateFunctions(functions.data(), count, module));
  for (CUfunction function : functions)
    GPUOS_CUDA_CHECK(api.cuFuncLoad(function));
}

CUmodule load_now(const Context& context, const std::string& image) {
  const ContextScope scope(context);
  CUmodule module = nullptr;
  GPUOS_CUDA_CHECK(driver().cuModuleLoadData(&module, image.data()));
  try {
    load_functions(module);
  } catch (...) {
    driver().cuModuleUnload(module);
    throw;
  }
  return module;
}

}  // namespace

const Context& device_context(int ordinal) {
  static auto* const mutex = new std::mutex;
  static auto* const contexts = new std::map<int, Context>;
  const std::lock_guard lock(*mutex);
  const auto found = contexts->find(ordinal);
  if (found != contexts->end()) return found->second;
  return contexts->emplace(ordinal, Context(ordinal)).first->second;
}

std::shared_ptr<LoadedModule> LoadedModule::load(
    int ordinal, std::string name, std::shared_ptr<const std::string> image) {
  const Context& context = device_context(ordinal);
  const auto module = std::make_shared<CUmodule>(nullptr);
  Parking::instance().run_parked(ordinal, [&context, module, image] {
    *module = load_now(context, *image);
  });
  return std::make_shared<LoadedModule>(context, *module, std::move(name),
                                        image->size());
}

LoadedModule::LoadedModule(const Context& context, CUmodule module,
                           std::string name, std::size_t bytes)
    : context_(context),
      module_(module),
      generation_(fork_generation()),
      record_(std::move(name), context.ordinal(), bytes) {}

LoadedModule::~LoadedModule() {
  // A child process has no part in its parent's modules.
  if (generation_ != fork_generation()) return;
  Parking::instance().drop(context_.ordinal(), context_.get(), module_);
}

CUfunction LoadedModule::function(const std::string& symbol) const {
  const ContextScope scope(context_);
  CUfunction function = nullptr;
  GPUOS_CUDA_CHECK(
      driver().cuModuleGetFunction(&function, module_, symbol.c_str()));
  return function;
}

DeviceGlobal LoadedModule::global(const std::string& symbol) const {
  const ContextScope scope(context_);
  DeviceGlobal global;
  GPUOS_CUDA_CHECK(driver().cuModuleGetGlobal(&global.address, &global.bytes,
                                              module_, symbol.c_str()));
  return global;
}

}  // namespace gpuos::cu
