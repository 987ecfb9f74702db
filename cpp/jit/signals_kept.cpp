#include "jit/signals_kept.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstring>
#include <span>

namespace gpuos::jit {
namespace {

using Handler = void (*)(int);

/// A signal that is ignored already is left alone by those who ask first.
Handler leave_signal(int /*number*/, Handler /*wanted*/) { return SIG_IGN; }

/// The loader's table of a library: the addresses of its calls of others.
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

/// The loader may have closed the page; it stays open afterwards, since others
/// of its slots may be written when they are called first.
bool open_page(void* slot) {
  const auto size = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const std::uintptr_t page =
      reinterpret_cast<std::uintptr_t>(slot) & ~(size - 1);
  return mprotect(reinterpret_cast<void*>(page), size,
                  PROT_READ | PROT_WRITE) == 0;
}

}  // namespace

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

}  // namespace gpuos::jit
