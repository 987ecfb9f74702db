#include "driver/driver_api.h"

#include <dlfcn.h>
#include <link.h>

#include <string>

#include "base/concat.h"
#include "gpuos/error.h"

namespace gpuos::cu {
namespace {

struct OpenedDriver {
  DriverApi api;
  std::string path;
  std::string problem;  // empty: `api` is complete
};

template <typename Function>
bool resolve(void* library, const char* symbol, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, symbol));
  return function != nullptr;
}

void* open_library() {
  // The second path is the one of WSL, for an ld.so that does not know it.
  for (const char* name : {"libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"}) {
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  }
  return nullptr;
}

OpenedDriver open_driver() {
  OpenedDriver opened;
  void* library = open_library();
  if (library == nullptr) {
    opened.problem =
        "cuda driver: libcuda.so.1 was not found; install the NVIDIA driver";
    return opened;
  }
  if (link_map* map = nullptr;
      dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr) {
    opened.path = map->l_name;
  }
  std::string missing;
#define GPUOS_RESOLVE(name, symbol, ...)                 \
  if (!resolve(library, #symbol, opened.api.name)) {     \
    missing += missing.empty() ? #symbol : ", " #symbol; \
  }
  GPUOS_DRIVER_FUNCTIONS(GPUOS_RESOLVE)
#undef GPUOS_RESOLVE
#define GPUOS_RESOLVE(name, symbol, ...) \
  resolve(library, #symbol, opened.api.name);
  GPUOS_OPTIONAL_DRIVER_FUNCTIONS(GPUOS_RESOLVE)
#undef GPUOS_RESOLVE
  if (!missing.empty()) {
    opened.problem = concat("cuda driver: ", opened.path, " has no ", missing,
                            "; install a driver of CUDA 12 or newer");
  }
  return opened;
}

// Never destroyed: threads that outlive main() may still call the driver.
const OpenedDriver& opened_driver() {
  static const OpenedDriver* const opened = new OpenedDriver(open_driver());
  return *opened;
}

}  // namespace

const DriverApi& driver() {
  const OpenedDriver& opened = opened_driver();
  if (!opened.problem.empty()) throw BackendUnavailable(opened.problem);
  return opened.api;
}

const DriverApi* try_driver() noexcept {
  const OpenedDriver& opened = opened_driver();
  return opened.problem.empty() ? &opened.api : nullptr;
}

const char* driver_path() noexcept { return opened_driver().path.c_str(); }

}  // namespace gpuos::cu
