#include "jit/toolkit/nvrtc_api.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <span>

#include "base/concat.h"
#include "base/process_exit.h"
#include "gpuos/error.h"
#include "jit/toolkit/header_packages.h"
#include "jit/toolkit/shared_library.h"

namespace gpuos::jit {
namespace {

using Handler = void (*)(int);

/// Claims that the signal is ignored: callers that ask first then leave the
/// signal alone.
Handler leave_signal(int /*number*/, Handler /*wanted*/) { return SIG_IGN; }

/// Holds the loader's table of a library: the addresses of the functions that
/// it calls elsewhere.
struct Calls {
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  std::span<const ElfW(Rela)> slots;
};

Calls calls_of(const link_map& library) {
  Calls calls;
  const ElfW(Rela)* first = nullptr;
  std::size_t bytes = 0;
  for (const ElfW(Dyn)* entry = library.l_ld; entry->d_tag != DT_NULL;
       ++entry) {
    // glibc has made addresses of these.
    const auto at = entry->d_un.d_ptr;
    if (entry->d_tag == DT_SYMTAB)
      calls.symbols = reinterpret_cast<const ElfW(Sym)*>(at);
    if (entry->d_tag == DT_STRTAB)
      calls.names = reinterpret_cast<const char*>(at);
    if (entry->d_tag == DT_JMPREL)
      first = reinterpret_cast<const ElfW(Rela)*>(at);
    if (entry->d_tag == DT_PLTRELSZ) bytes = entry->d_un.d_val;
  }
  if (first != nullptr) calls.slots = {first, bytes / sizeof(*first)};
  return calls;
}

/// Opens a page that the loader may have closed. The page stays open
/// afterwards, because other slots in it may be written at their first call.
bool open_page(void* slot) {
  const auto size = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const std::uintptr_t page =
      reinterpret_cast<std::uintptr_t>(slot) & ~(size - 1);
  return mprotect(reinterpret_cast<void*>(page), size,
                  PROT_READ | PROT_WRITE) == 0;
}

/// Makes this library's calls of signal() do nothing from now on. Otherwise,
/// while NVRTC reads a source, Ctrl-C and SIGTERM end the process with exit(4),
/// even with a handler. NVRTC also restores the handlers with other flags. With
/// those a signal no longer ends a read().
void keep_signals_from(const SharedLibrary& library) noexcept {
  link_map* map = nullptr;
  if (dlinfo(library.handle, RTLD_DI_LINKMAP, static_cast<void*>(&map)) != 0)
    return;
  const Calls calls = calls_of(*map);
  if (calls.symbols == nullptr || calls.names == nullptr) return;
  for (const ElfW(Rela) & slot : calls.slots) {
    const auto& symbol = calls.symbols[ELF64_R_SYM(slot.r_info)];
    if (std::strcmp(calls.names + symbol.st_name, "signal") != 0) continue;
    void* const at = reinterpret_cast<void*>(map->l_addr + slot.r_offset);
    auto* const instead = &leave_signal;
    if (open_page(at)) std::memcpy(at, &instead, sizeof(instead));
  }
}

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

// Loads NVRTC's builtins, which NVRTC opens by name at the first compile. The
// wheel of 13.0 has no RPATH, so it finds them only if they are loaded already.
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
    // This store pairs with the acquire load above. The library is never freed,
    // because NVRTC may be in use when the process ends.
    opened.store(api.get(), std::memory_order_release);
    expect_process_exit();
    return *api.release();
  }
  throw BackendUnavailable(concat("nvrtc: libnvrtc.so was not found in ",
                                  join_places(search.places),
                                  "; install it with: ", kInstallCompiler));
}

}  // namespace gpuos::jit
