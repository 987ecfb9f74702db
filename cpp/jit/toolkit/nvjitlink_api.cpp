#include "jit/toolkit/nvjitlink_api.h"

#include <atomic>
#include <memory>
#include <mutex>

#include "base/concat.h"
#include "jit/toolkit/shared_library.h"

namespace gpuos::jit {
namespace {

// Finds a function. The header maps nvJitLinkCreate to __nvJitLinkCreate_13_5,
// and not every release exports the plain name too.
void* find_versioned(const SharedLibrary& library, const std::string& name) {
  if (void* symbol = find_symbol(library, name.c_str())) return symbol;
  for (const int major : {13, 12}) {
    for (int minor = 9; minor >= 0; --minor) {
      const std::string full = concat("__", name, "_", major, "_", minor);
      if (void* symbol = find_symbol(library, full.c_str())) return symbol;
    }
  }
  return nullptr;
}

bool open_api(const std::string& candidate, NvJitLink& api) {
  const SharedLibrary library = open_library(candidate);
  if (library.handle == nullptr) return false;
  bool complete = true;
#define GPUOS_RESOLVE(name, ...)                                            \
  api.name =                                                                \
      reinterpret_cast<decltype(api.name)>(find_versioned(library, #name)); \
  complete = complete && api.name != nullptr;
  GPUOS_NVJITLINK_FUNCTIONS(GPUOS_RESOLVE)
#undef GPUOS_RESOLVE
  // The function exists since 12.3. Without it the version stays 0.0, and gpuos
  // accepts the library.
  using Version = nvJitLinkResult (*)(unsigned int*, unsigned int*);
  const auto version =
      reinterpret_cast<Version>(find_versioned(library, "nvJitLinkVersion"));
  unsigned int major = 0;
  unsigned int minor = 0;
  if (version != nullptr && version(&major, &minor) == NVJITLINK_SUCCESS) {
    api.major = static_cast<int>(major);
    api.minor = static_cast<int>(minor);
  }
  api.path = library.path;
  api.file = library.file;
  return complete;
}

const NvJitLink* open_matching(int major, int minor) {
  for (const std::string& candidate : search_library("nvJitLink").candidates) {
    auto api = std::make_unique<NvJitLink>();
    if (!open_api(candidate, *api)) continue;
    const bool fits = api->major == major && api->minor >= minor;
    if (fits || api->major == 0) return api.release();
  }
  return nullptr;
}

}  // namespace

const NvJitLink* try_nvjitlink(int major, int minor) {
  static std::atomic<const NvJitLink*> opened = nullptr;
  static std::mutex mutex;
  if (const NvJitLink* api = opened.load(std::memory_order_acquire)) return api;
  const std::lock_guard lock(mutex);
  if (const NvJitLink* api = opened.load(std::memory_order_relaxed)) return api;
  const NvJitLink* api = open_matching(major, minor);
  // This store pairs with the acquire load above.
  opened.store(api, std::memory_order_release);
  return api;
}

}  // namespace gpuos::jit
