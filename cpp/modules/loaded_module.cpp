#include "modules/loaded_module.h"

#include <array>
#include <vector>

#include "base/concat.h"
#include "base/fork_guard.h"
#include "driver/check.h"
#include "gpuos/error.h"
#include "modules/parking.h"

namespace gpuos::cu {
namespace {

// Loads all functions now. Their load at the first launch would wait for all
// running work.
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

// Loads an image. An error has the log of the driver's PTX compiler.
CUmodule load_image(const std::string& image) {
  std::array<char, 4096> log{};
  std::array options{CU_JIT_ERROR_LOG_BUFFER,
                     CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  std::array<void*, 2> values{log.data(),
                              reinterpret_cast<void*>(log.size() - 1)};
  CUmodule module = nullptr;
  const CUresult status = driver().cuModuleLoadDataEx(
      &module, image.data(), static_cast<unsigned>(options.size()),
      options.data(), values.data());
  if (status == CUDA_ERROR_INVALID_PTX && log[0] != '\0')
    throw CompileError(concat("the driver: ", log.data()), log.data());
  check_cuda(status, "cuModuleLoadDataEx");
  return module;
}

CUmodule load_now(const Context& context, const std::string& image) {
  const ContextScope scope(context);
  CUmodule module = load_image(image);
  try {
    load_functions(module);
  } catch (...) {
    driver().cuModuleUnload(module);
    throw;
  }
  return module;
}

}  // namespace

void read_global(const Context& context, const DeviceGlobal& from, void* to) {
  const ContextScope scope(context);
  GPUOS_CUDA_CHECK(driver().cuMemcpyDtoH(to, from.address, from.bytes));
}

void write_global(const Context& context, const DeviceGlobal& to,
                  const void* from) {
  const ContextScope scope(context);
  GPUOS_CUDA_CHECK(driver().cuMemcpyHtoD(to.address, from, to.bytes));
}

void check_bytes(const DeviceGlobal& global, std::size_t bytes,
                 std::string_view name) {
  if (global.bytes != bytes)
    throw InvalidArgument(
        concat(name, ": expected ", global.bytes, " bytes, got ", bytes));
}

const Context& device_context(int ordinal) {
  static auto* const mutex = new std::mutex;
  static auto* const contexts = new std::map<int, Context>;
  const std::lock_guard lock(*mutex);
  const auto found = contexts->find(ordinal);
  if (found != contexts->end()) return found->second;
  return contexts->emplace(ordinal, Context(ordinal)).first->second;
}

std::optional<int> try_compute_capability(int ordinal) {
  // An exception would cost more than the rest of a compile that is remembered.
  if (try_driver() == nullptr) return std::nullopt;
  try {
    return device_context(ordinal).compute_capability();
  } catch (const BackendUnavailable&) {
    return std::nullopt;
  }
}

std::shared_ptr<LoadedModule> LoadedModule::load(
    int ordinal, std::string name, std::shared_ptr<const std::string> image,
    Keeps keeps) {
  const Context& context = device_context(ordinal);
  const auto module = std::make_shared<CUmodule>(nullptr);
  Parking::instance().run_parked(ordinal, [&context, module, image] {
    *module = load_now(context, *image);
  });
  return std::make_shared<LoadedModule>(context, *module, std::move(name),
                                        image->size(), std::move(keeps));
}

LoadedModule::LoadedModule(const Context& context, CUmodule module,
                           std::string name, std::size_t bytes, Keeps keeps)
    : context_(context),
      module_(module),
      generation_(fork_generation()),
      record_(std::move(name), context.ordinal(), bytes),
      keeps_(std::move(keeps)) {}

LoadedModule::~LoadedModule() {
  // A child process has no part in its parent's modules and their events.
  if (generation_ != fork_generation()) {
    static_cast<void>(launches_.release());
    return;
  }
  Parking::instance().drop({context_.ordinal(), context_.get(), module_,
                            std::move(launches_), std::move(keeps_)});
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
