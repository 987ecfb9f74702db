#include "host/host_image.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <exception>
#include <optional>
#include <string_view>

#include "base/concat.h"
#include "base/entry_names.h"
#include "gpuos/error.h"
#include "host/temp_folder.h"
#include "host/usual_floats.h"
#include "modules/module_record.h"

extern char** environ;

namespace gpuos::host {
namespace {

/// Reads and writes an ELF file, and never beyond its end.
class ElfBytes {
 public:
  explicit ElfBytes(std::string& bytes) : bytes_(bytes) {}

  bool holds(std::uint64_t offset, std::uint64_t count,
             std::uint64_t size) const {
    return offset <= bytes_.size() &&
           (size == 0 || count <= (bytes_.size() - offset) / size);
  }
  template <typename T>
  std::optional<T> read(std::uint64_t offset, std::uint64_t index = 0) const {
    if (!holds(offset, index + 1, sizeof(T))) return std::nullopt;
    T value;
    std::memcpy(&value, bytes_.data() + offset + index * sizeof(T), sizeof(T));
    return value;
  }
  template <typename T>
  void write(std::uint64_t offset, std::uint64_t index, const T& value) {
    std::memcpy(bytes_.data() + offset + index * sizeof(T), &value, sizeof(T));
  }

 private:
  std::string& bytes_;
};

/// The table of initialisers that the system's loader would call.
struct Initialisers {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
};

Initialisers take_from(ElfBytes& file, const Elf64_Phdr& dynamic) {
  Initialisers taken;
  for (std::uint64_t i = 0; i < dynamic.p_filesz / sizeof(Elf64_Dyn); ++i) {
    auto entry = file.read<Elf64_Dyn>(dynamic.p_offset, i);
    if (!entry || entry->d_tag == DT_NULL) break;
    if (entry->d_tag == DT_INIT_ARRAY) taken.address = entry->d_un.d_ptr;
    if (entry->d_tag != DT_INIT_ARRAYSZ) continue;
    taken.bytes = entry->d_un.d_val;
    entry->d_un.d_val = 0;
    file.write(dynamic.p_offset, i, *entry);
  }
  return taken;
}

/// Empty: a part of the file is missing.
std::optional<Initialisers> take_initialisers(ElfBytes file) {
  const auto header = file.read<Elf64_Ehdr>(0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_type != ET_DYN ||
      header->e_phentsize != sizeof(Elf64_Phdr) ||
      // Linkers write it last.
      !file.holds(header->e_shoff, header->e_shnum, header->e_shentsize))
    return std::nullopt;
  Initialisers taken;
  for (std::uint64_t i = 0; i < header->e_phnum; ++i) {
    const auto part = file.read<Elf64_Phdr>(header->e_phoff, i);
    if (!part) return std::nullopt;
    if (part->p_type != PT_LOAD && part->p_type != PT_DYNAMIC) continue;
    if (!file.holds(part->p_offset, part->p_filesz, 1)) return std::nullopt;
    if (part->p_type == PT_DYNAMIC) taken = take_from(file, *part);
  }
  return taken;
}

struct Library {
  Library(void* opened, const std::string& name, std::size_t bytes)
      : handle(opened), record(name, -1, bytes) {
    record.hold("operator");
  }
  ~Library() {
    const UsualFloats floats;
    ::dlclose(handle);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  void* handle;
  ModuleRecord record;
};

OpFn find_entry(void* library, const std::string& entry,
                std::string_view image) {
  const std::string symbol = "gpuos_entry_" + entry;
  const auto* pointer = static_cast<OpFn*>(::dlsym(library, symbol.c_str()));
  if (pointer == nullptr) {
    throw CompileError(concat(entry, ": expected GPUOS_OPERATOR(", entry,
                              ") in the source, got ", operators_in(image)),
                       "");
  }
  return *pointer;
}

}  // namespace

HostImage make_host_image(std::string bytes, const std::string& entry) {
  HostImage image{std::move(bytes)};
  const auto taken = take_initialisers(ElfBytes(image.bytes));
  if (!taken)
    throw CompileError(
        concat(entry,
               ": expected the compiler to write a complete library, got ",
               image.bytes.size(), " bytes of something else"),
        "");
  image.initialisers = taken->address;
  image.initialiser_count = taken->bytes / sizeof(void*);
  return image;
}

void* open_host_image(const HostImage& image, const std::string& name,
                      Names names) {
  static std::atomic<unsigned> serial{0};
  const UsualFloats floats;
  const TempFolder folder;
  // The loader takes an equal path for the library that it already has.
  const std::string path =
      folder.file(concat("host-", serial.fetch_add(1), ".so"));
  write_file(path, image.bytes);
  const int mode =
      names == Names::Own ? RTLD_NOW | RTLD_LOCAL : RTLD_LAZY | RTLD_GLOBAL;
  if (void* library = ::dlopen(path.c_str(), mode)) return library;
  const std::string why = ::dlerror();
  throw CompileError(concat(name, ": the compiled code does not load: ", why,
                            "; if the temporary folder forbids "
                            "programs, set TMPDIR"),
                     why);
}

// Catches exceptions, because one that leaves the system's loader keeps the
// loader's lock taken. The process could then load no library.
void initialise_host_image(void* library, const HostImage& image) {
  using Initialiser = void (*)(int, char**, char**);
  if (image.initialiser_count == 0) return;
  link_map* map = nullptr;
  if (::dlinfo(library, RTLD_DI_LINKMAP, &map) != 0)
    throw Error(concat("host image: ", ::dlerror()));
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the loader gives an integer
  const auto* table =
      reinterpret_cast<const Initialiser*>(map->l_addr + image.initialisers);
  char* no_arguments = nullptr;
  for (std::size_t i = 0; i < image.initialiser_count; ++i)
    table[i](0, &no_arguments, environ);
}

HostModule load_host_image(const HostImage& image, const std::string& entry) {
  const UsualFloats floats;
  void* library = open_host_image(image, entry, Names::Own);
  const auto owner =
      std::make_shared<Library>(library, entry, image.bytes.size());
  const auto fail = [&entry](const char* what) {
    throw CompileError(
        concat(entry, ": a static object's constructor threw: ", what), "");
  };
  try {
    initialise_host_image(library, image);
  } catch (const std::exception& error) {
    fail(error.what());
  } catch (...) {
    fail("an exception of unknown type");
  }
  return {{owner, library}, find_entry(library, entry, image.bytes)};
}

}  // namespace gpuos::host
