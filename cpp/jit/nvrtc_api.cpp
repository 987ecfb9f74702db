#include "jit/nvrtc_api.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>

#include "base/concat.h"
#include "base/process_exit.h"
#include "gpuos/error.h"
#include "jit/header_packages.h"
#include "jit/shared_library.h"
#include "jit/signals_kept.h"

namespace gpuos::jit {
namespace {

bool resolve(const SharedLibrary& library, Nvrtc& api) {
  bool complete = true;
#define GPUOS_RESOLVE(name, ...)                                         \
  api.name =                                                             \
      reinterpret_cast<decltype(api.name)>(find_symbol(library, #name)); \
  complete = complete && api.name != nullptr;
  GPUOS_NVRTC_FUNCTIONS(GPUOS_RESOLVE)
  GPUOS_RESOLVE(nvrtcGetErrorString)
  const bool has_all = complete;
  GPUOS_RESOLVE(nvrtcSetFlowCallback)
  GPUOS_OPTIONAL_NVRTC_FUNCTIONS(GPUOS_RESOLVE)
#undef GPUOS_RESOLVE
  return has_all;
}

// NVRTC opens its builtins by name at the first compile. The wheel of 13.0 has
// no RPATH, so it finds them only if they are loaded already.
void preload_builtins(Nvrtc& api) {
  const std::string dir = api.path.substr(0, api.path.rfind('/'));
  const std::string exact = builtins_name(api);
  std::vector<std::string> candidates = files_like(dir, exact);
  for (std::string& path : files_like(dir, "libnvrtc-builtins.so"))
    candidates.push_back(std::move(path));
  candidates.push_back(exact);  // wherever the loader looks
  for (const std::string& candidate : candidates) {
    const SharedLibrary library = open_library(candidate);
    if (library.handle == nullptr) continue;
    api.builtins = library.path;
    return;
  }
}

bool open_api(const std::string& candidate, Nvrtc& api) {
  const SharedLibrary library = open_library(candidate);
  if (library.handle == nullptr || !resolve(library, api)) return false;
  api.path = library.path;
  api.file = library.file;
  int count = 0;
  if (api.nvrtcVersion(&api.major, &api.minor) != NVRTC_SUCCESS ||
      api.nvrtcGetNumSupportedArchs(&count) != NVRTC_SUCCESS || count <= 0)
    return false;
  api.archs.assign(static_cast<std::size_t>(count), 0);
  if (api.nvrtcGetSupportedArchs(api.archs.data()) != NVRTC_SUCCESS)
    return false;
  std::ranges::sort(api.archs);
  preload_builtins(api);
  keep_signals_from(library);
  return true;
}

}  // namespace

std::string builtins_name(const Nvrtc& api) {
  return concat("libnvrtc-builtins.so.", api.major, ".", api.minor);
}

const Nvrtc& nvrtc() {
  static std::atomic<const Nvrtc*> opened = nullptr;
  static std::mutex mutex;
  if (const Nvrtc* api = opened.load(std::memory_order_acquire)) return *api;
  const std::lock_guard lock(mutex);
  if (const Nvrtc* api = opened.load(std::memory_order_relaxed)) return *api;
  const LibrarySearch search = search_library("nvrtc");
  for (const std::string& candidate : search.candidates) {
    auto api = std::make_unique<Nvrtc>();
    if (!open_api(candidate, *api)) continue;
    // Pairs with the acquire load above. Never freed: NVRTC may be in use
    // when the process ends.
    opened.store(api.get(), std::memory_order_release);
    expect_process_exit();
    return *api.release();
  }
  throw BackendUnavailable(concat("nvrtc: libnvrtc.so was not found in ",
                                  join_places(search.places),
                                  "; install it with: ", kInstallCompiler));
}

}  // namespace gpuos::jit
