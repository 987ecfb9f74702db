#include "session/host/host_objects.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <atomic>
#include <cstring>

#include "base/concat.h"
#include "gpuos/error.h"
#include "jit/symbols.h"
#include "session/cells/tokens.h"

namespace gpuos::session {
namespace {

// Every name that a session itself makes contains this.
constexpr std::string_view kOwn = "gpuos_";

bool is_ours(const std::string& symbol) {
  return symbol.find(kOwn) != std::string::npos;
}

// Reads a file that the loader has accepted.
class ElfFile {
 public:
  explicit ElfFile(const std::string& bytes) : bytes_(bytes) {
    header_ = at<Elf64_Ehdr>(0);
  }

  template <typename T>
  T at(std::uint64_t offset) const {
    T value{};
    if (offset + sizeof(T) <= bytes_.size())
      std::memcpy(&value, bytes_.data() + offset, sizeof(T));
    return value;
  }
  Elf64_Shdr section(std::size_t i) const {
    return at<Elf64_Shdr>(header_.e_shoff + i * header_.e_shentsize);
  }
  std::size_t sections() const { return header_.e_shnum; }
  std::string text(std::uint64_t offset) const {
    return offset < bytes_.size() ? bytes_.c_str() + offset : "";
  }
  bool is_binding(std::uint32_t type) const {
    if (header_.e_machine == EM_X86_64)
      return type == R_X86_64_GLOB_DAT || type == R_X86_64_JUMP_SLOT;
    return type == R_AARCH64_GLOB_DAT || type == R_AARCH64_JUMP_SLOT;
  }
  // Returns whether the place holds an address, as in "int (*p)() = f;" and in
  // a vtable.
  bool is_value(std::uint32_t type) const {
    return type ==
           (header_.e_machine == EM_X86_64 ? R_X86_64_64 : R_AARCH64_ABS64);
  }

 private:
  const std::string& bytes_;
  Elf64_Ehdr header_;
};

// NOLINTBEGIN(performance-no-int-to-ptr): the loader gives integers
template <typename T>
T* pointer(std::uint64_t address) {
  return reinterpret_cast<T*>(address);
}
// NOLINTEND(performance-no-int-to-ptr)

class Reader {
 public:
  Reader(const std::string& bytes, std::uint64_t base)
      : file_(bytes), base_(base) {}

  void run(HostLibrary& library) const {
    for (std::size_t i = 0; i < file_.sections(); ++i) {
      const Elf64_Shdr section = file_.section(i);
      if (section.sh_type == SHT_DYNSYM) read_exports(section, library);
      if (section.sh_type == SHT_RELA) read_imports(section, library);
    }
  }
  /// Returns the symbols that the library needs. Symbols of the session become
  /// weak, because their addresses are put in after the library is loaded.
  static std::vector<std::string> take_wanted(std::string& bytes) {
    std::vector<std::string> found;
    const Reader reader(bytes, 0);
    const ElfFile& file = reader.file_;
    for (std::size_t i = 0; i < file.sections(); ++i) {
      const Elf64_Shdr section = file.section(i);
      if (section.sh_type != SHT_DYNSYM) continue;
      for (std::uint64_t at = 0; at < section.sh_size;
           at += sizeof(Elf64_Sym)) {
        auto symbol = file.at<Elf64_Sym>(section.sh_offset + at);
        if (symbol.st_shndx != SHN_UNDEF ||
            ELF64_ST_BIND(symbol.st_info) != STB_GLOBAL)
          continue;
        found.push_back(reader.name_of(section, symbol));
        const auto type = ELF64_ST_TYPE(symbol.st_info);
        if (!is_ours(found.back()) || type == STT_TLS) continue;
        symbol.st_info = ELF64_ST_INFO(STB_WEAK, type);
        std::memcpy(bytes.data() + section.sh_offset + at, &symbol,
                    sizeof symbol);
      }
    }
    return found;
  }

 private:
  std::string name_of(const Elf64_Shdr& symbols,
                      const Elf64_Sym& symbol) const {
    const Elf64_Shdr texts = file_.section(symbols.sh_link);
    return file_.text(texts.sh_offset + symbol.st_name);
  }

  void read_exports(const Elf64_Shdr& section, HostLibrary& library) const {
    for (std::uint64_t at = 0; at < section.sh_size; at += sizeof(Elf64_Sym)) {
      const auto symbol = file_.at<Elf64_Sym>(section.sh_offset + at);
      const auto type = ELF64_ST_TYPE(symbol.st_info);
      if (symbol.st_shndx == SHN_UNDEF ||
          (type != STT_FUNC && type != STT_OBJECT && type != STT_TLS))
        continue;
      std::string name = name_of(section, symbol);
      // A thread-local variable has no single address.
      void* const address =
          type == STT_TLS ? nullptr : pointer<void>(base_ + symbol.st_value);
      if (is_ours(name)) library.exports.emplace(std::move(name), address);
    }
  }

  void read_imports(const Elf64_Shdr& section, HostLibrary& library) const {
    const Elf64_Shdr symbols = file_.section(section.sh_link);
    for (std::uint64_t at = 0; at < section.sh_size; at += sizeof(Elf64_Rela)) {
      const auto entry = file_.at<Elf64_Rela>(section.sh_offset + at);
      const auto type = static_cast<std::uint32_t>(ELF64_R_TYPE(entry.r_info));
      const bool is_value = file_.is_value(type);
      if (!file_.is_binding(type) && !is_value) continue;
      const auto symbol = file_.at<Elf64_Sym>(
          symbols.sh_offset + ELF64_R_SYM(entry.r_info) * sizeof(Elf64_Sym));
      std::string name = name_of(symbols, symbol);
      // The loader has resolved the symbols that the library itself defines.
      if (is_ours(name) && (!is_value || symbol.st_shndx == SHN_UNDEF))
        library.imports.push_back({std::move(name),
                                   pointer<void*>(base_ + entry.r_offset),
                                   is_value});
    }
  }

  ElfFile file_;
  std::uint64_t base_;
};

}  // namespace

std::string without_own_namespaces(std::string text) {
  for (std::size_t at = text.find(kOwn); at != text.npos;
       at = text.find(kOwn, at)) {
    std::size_t end = at + kOwn.size();
    while (end < text.size() &&
           (text[end] == '_' || (text[end] >= '0' && text[end] <= '9')))
      ++end;
    const bool is_own = end > at + kOwn.size() && text.substr(end, 2) == "::";
    if (is_own) {
      text.erase(at, end + 2 - at);
    } else {
      at = end;
    }
  }
  return text;
}

std::string identity_of(const std::string& symbol) {
  std::string text = jit::demangled(symbol);
  std::size_t head = std::min(text.find('('), text.size());
  std::string rest = text.substr(head);
  text.resize(head);
  // The symbol of a function that returns a C++11 string has such a tag.
  const std::size_t tag = text.find("[abi:");
  if (tag != text.npos) text.resize(tag);
  return without_own_namespaces(text) + rest;
}

void HostObjects::end() {
  for (auto library = libraries_.rbegin(); library != libraries_.rend();
       ++library) {
    using Handle = void* (*)();
    using Finalise = void (*)(void*);
    const auto handle = reinterpret_cast<Handle>(
        ::dlsym(library->handle, concat(library->name, "_handle").c_str()));
    static const auto finalise =
        reinterpret_cast<Finalise>(::dlsym(RTLD_DEFAULT, "__cxa_finalize"));
    if (handle != nullptr && finalise != nullptr) finalise(handle());
  }
}

const HostLibrary& HostObjects::open(host::HostImage image,
                                     const std::string& name,
                                     const std::string& cell,
                                     Journal& journal) {
  HostLibrary library{.image = std::move(image), .name = name};
  const std::vector<std::string> wanted =
      Reader::take_wanted(library.image.bytes);
  library.handle =
      host::open_host_image(library.image, cell, host::Names::Shared);
  link_map* map = nullptr;
  if (::dlinfo(library.handle, RTLD_DI_LINKMAP, &map) != 0)
    throw Error(concat(cell, ": ", ::dlerror()));
  const Reader reader(library.image.bytes, map->l_addr);
  reader.run(library);
  refuse_missing(wanted, library, cell);
  // After this, callers need only the places of the initialisers.
  library.image.bytes.clear();
  for (const auto& [symbol, address] : library.exports) {
    exports_.try_emplace(symbol, address);
    addresses_.try_emplace(symbol, address);
    symbols_[identity_of(symbol)].insert(symbol);
  }
  libraries_.push_back(std::move(library));
  HostLibrary& opened = libraries_.back();
  journal.record([&opened] { opened.is_taken_back = true; });
  for (HostImport& import : opened.imports) {
    const std::string identity = identity_of(import.symbol);
    symbols_[identity].insert(import.symbol);
    const auto newest = newest_.find(identity);
    // The function was declared in one cell and defined in another.
    if (newest != newest_.end())
      addresses_.try_emplace(import.symbol, address_of(newest->second));
    bind(import);
  }
  return opened;
}

// Refuses missing symbols, because a call of a missing function would end the
// process. A symbol that a later cell may define is weak.
void HostObjects::refuse_missing(const std::vector<std::string>& wanted,
                                 const HostLibrary& library,
                                 const std::string& cell) const {
  for (const std::string& symbol : wanted) {
    const auto newest = newest_.find(identity_of(symbol));
    const bool is_known =
        is_ours(symbol) ? exports_.contains(symbol) || (newest != newest_.end())
                        : ::dlsym(library.handle, symbol.c_str()) != nullptr;
    if (!is_known)
      throw CompileError(concat(cell, ": expected a definition of ",
                                without_own_namespaces(jit::demangled(symbol)),
                                " in the process or the session, got none"),
                         "");
  }
}

std::set<std::string> HostObjects::missing() const {
  std::set<std::string> names;
  for (const HostLibrary& library : libraries_) {
    if (library.is_taken_back) continue;
    for (const HostImport& import : library.imports) {
      if (address_of(import.symbol) == nullptr)
        names.merge(identifiers_of(identity_of(import.symbol)));
    }
  }
  return names;
}

void* HostObjects::address_of(const std::string& symbol) const {
  const auto found = addresses_.find(symbol);
  return found == addresses_.end() ? nullptr : found->second;
}

// Stores the address atomically, because another thread may be calling.
void HostObjects::bind(HostImport& import) {
  void* const address = address_of(import.symbol);
  if (address == nullptr || (import.is_value && import.is_bound)) return;
  std::atomic_ref<void*>(*import.place)
      .store(address, std::memory_order_release);
  import.is_bound = true;
}

void HostObjects::set(const std::string& symbol, void* address) {
  addresses_[symbol] = address;
  for (HostLibrary& library : libraries_) {
    for (HostImport& import : library.imports) {
      if (import.symbol == symbol) bind(import);
    }
  }
}

void HostObjects::define(const std::string& identity, const std::string& symbol,
                         bool replaces, Journal& journal) {
  std::set<std::string>& group = symbols_[identity];
  if (!replaces) {
    journal.record_value(symbols_, identity);
    group = {symbol};
  }
  group.insert(symbol);
  journal.record_value(newest_, identity);
  newest_[identity] = symbol;
  void* const address = exports_.at(symbol);
  for (const std::string& each : group) {
    void* const old = address_of(each);
    if (old == address) continue;
    journal.record([this, each, old] { set(each, old); });
    set(each, address);
  }
}

}  // namespace gpuos::session
