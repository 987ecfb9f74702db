#include "jit/given_object.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/concat.h"
#include "gpuos/error.h"
#include "jit/objects/cubin.h"
#include "jit/objects/ptx_text.h"

namespace gpuos::jit {
namespace {

// Files of device code begin with these bytes.
inline constexpr std::string_view kElf =
    "\x7f"
    "ELF";
inline constexpr std::string_view kLtoIr = "\xed\x43\x4e\x7f";
inline constexpr std::string_view kFatBinary = "\x50\xed\x55\xba";

using Kind = DeviceObject::Kind;

// Names a kind, such as "PTX", and the keyword of define() that takes it.
struct Named {
  std::string_view kind;
  std::string_view keyword;
};

Named named(Kind kind) {
  switch (kind) {
    case Kind::Ptx:
      return {"PTX", "ptx"};
    case Kind::LtoIr:
      return {"LTO-IR", "ltoir"};
    case Kind::Cubin:
      break;
  }
  return {"a relocatable CUBIN", "cubin"};
}

std::string what_it_is(std::string_view bytes) {
  const auto suggest = [](Kind kind) {
    return concat(named(kind).kind, ", which is given as ",
                  named(kind).keyword);
  };
  if (bytes.empty()) return "nothing";
  if (bytes.starts_with(kElf)) return suggest(Kind::Cubin);
  if (bytes.starts_with(kLtoIr)) return suggest(Kind::LtoIr);
  if (bytes.starts_with(kFatBinary))
    return "a fat binary; 'cuobjdump -xelf all' extracts its CUBINs";
  if (bytes.find('\0') != bytes.npos) return "other bytes";
  if (!read_ptx(bytes).architecture.empty()) return suggest(Kind::Ptx);
  if (bytes.find('\n') == bytes.npos)
    return "one line that is none; a file is given as its path, a pathlib.Path";
  return "text that is none; CUDA C++ is given as source";
}

[[noreturn]] void refuse_kind(std::string_view where, Kind kind,
                              std::string_view bytes) {
  throw InvalidArgument(concat(where, ": expected ", named(kind).kind, ", got ",
                               what_it_is(bytes)));
}

// Holds the symbols that an object offers under one name.
struct Offered {
  std::string_view name;
  std::string_view signature;  // empty: it is not said
  bool is_kernel = false;
  bool is_visible = true;
};

std::size_t end_of_first(std::string_view signature) {
  if (signature[0] != 'b') return 1;
  return std::min(signature.find_first_not_of("0123456789", 1),
                  signature.size());
}

bool fits(std::string_view wanted, std::string_view got) {
  if (got.empty() || wanted == got) return true;
  // Some functions return a value where C returns void, and callers ignore the
  // value.
  return wanted[0] == 'v' && (got[0] == 'i' || got[0] == 'l') &&
         wanted.substr(1) == got.substr(1);
}

// Returns "4, 8, 16" of "ilb16".
std::string sizes(std::string_view signature) {
  std::string text;
  for (std::size_t i = 0; i < signature.size(); ++i) {
    text += text.empty() ? "" : ", ";
    const char code = signature[i];
    if (code != 'b') {
      text += code == 'i' ? "4" : code == 'l' ? "8" : code == 'v' ? "0" : "?";
      continue;
    }
    const std::size_t end = signature.find_first_not_of("0123456789", i + 1);
    text += signature.substr(i + 1, end - i - 1);
    i = std::min(end, signature.size()) - 1;
  }
  return text;
}

std::string shape(std::string_view signature) {
  const std::size_t end = end_of_first(signature);
  return concat("(", sizes(signature.substr(end)), ") -> ",
                sizes(signature.substr(0, end)));
}

// Returns the code of the function's result.
char check_function(std::span<const Offered> offered,
                    const WantedFunction& function) {
  const std::string& symbol = function.symbol;
  const auto fail = [&](const auto&... text) {
    throw InvalidArgument(
        concat(function.where, ": expected ", function.declaration, text...));
  };
  const auto found = std::ranges::find(offered, symbol, &Offered::name);
  if (found == offered.end()) {
    std::string names;
    for (const Offered& each : offered)
      if (each.is_visible)
        names += concat(names.empty() ? "" : ", ", each.name,
                        each.is_kernel ? " (a kernel)" : "");
    fail(", got an object with ", names.empty() ? "no functions" : names);
  }
  if (found->is_kernel)
    fail(", got the kernel ", symbol,
         "; JitModule(image=...) loads and launches kernels");
  if (!found->is_visible)
    fail(", got a function ", symbol,
         " that other objects cannot call; make it visible (extern \"C\")");
  if (!fits(function.signature, found->signature))
    fail(", which is ", shape(function.signature), " bytes, got ",
         shape(found->signature));
  return found->signature.empty() ? function.signature[0] : found->signature[0];
}

std::vector<Offered> offered_by(const PtxText& text) {
  std::vector<Offered> offered;
  for (const PtxFunction& function : text.functions)
    if (function.is_defined)
      offered.push_back({function.name, function.signature, function.is_kernel,
                         function.is_visible});
  return offered;
}

std::vector<Offered> offered_by(const Cubin& cubin) {
  // These are from the ELF specification, except the mark of a kernel.
  constexpr std::uint8_t kLocal = 0;
  constexpr std::uint8_t kFunction = 2;
  constexpr std::uint8_t kKernel = 0x10;
  std::vector<Offered> offered;
  for (std::uint32_t i = 0; i < cubin.symbols().size(); ++i) {
    const Symbol& symbol = cubin.symbols()[i];
    if (symbol.section == 0 || symbol.type != kFunction) continue;
    std::string_view prototype = cubin.prototype(i);
    if (!prototype.empty()) prototype.remove_prefix(1);  // "#"
    offered.push_back({symbol.name, prototype, (symbol.other & kKernel) != 0,
                       symbol.binding != kLocal});
  }
  return offered;
}

// Removes the zero that some compilers write at the end of the text.
std::string whole_text(std::string text) {
  text.erase(text.find_last_not_of('\0') + 1);
  return text;
}

char check_ptx(const std::string& text, const WantedFunction& function) {
  const PtxText read = read_ptx(text);
  if (read.architecture.empty() || text.find('\0') != text.npos)
    refuse_kind(function.where, Kind::Ptx, text);
  return check_function(offered_by(read), function);
}

char check_cubin(const std::string& bytes, const WantedFunction& function) {
  if (!bytes.starts_with(kElf)) refuse_kind(function.where, Kind::Cubin, bytes);
  std::optional<Cubin> cubin;
  try {
    cubin.emplace(bytes);
  } catch (const CompileError& error) {
    throw InvalidArgument(concat(
        function.where, ": expected a relocatable CUBIN, got ", error.what()));
  }
  if (!cubin->is_relocatable())
    throw InvalidArgument(concat(
        function.where,
        ": expected a relocatable CUBIN, got one that is linked already; "
        "nvcc makes the other with -rdc=true -cubin"));
  return check_function(offered_by(*cubin), function);
}

struct Architecture {
  int number = 0;
  std::string_view suffix;

  explicit Architecture(std::string_view text) {
    const auto end =
        std::from_chars(text.data(), text.data() + text.size(), number).ptr;
    suffix = text.substr(static_cast<std::size_t>(end - text.data()));
  }
};

// Returns whether code runs on `ours`. Code with all features of one
// architecture runs only there.
bool runs_on(const Architecture& ours, const Architecture& theirs) {
  if (!theirs.suffix.empty())
    return theirs.number == ours.number && theirs.suffix == ours.suffix;
  return theirs.number <= ours.number;
}

std::optional<std::uint32_t> cubin_architecture(std::string_view bytes) {
  try {
    return Cubin(bytes).architecture();
  } catch (const CompileError&) {
    return std::nullopt;
  }
}

std::string_view kind_of(std::string_view bytes) {
  if (bytes.empty()) return "nothing";
  if (bytes.starts_with(kElf)) return "an ELF file that is none";
  if (bytes.starts_with(kFatBinary))
    return "a fat binary; 'cuobjdump -xelf all' extracts its CUBINs";
  if (bytes.find('\0') != bytes.npos) return "other bytes";
  return "text that is none; CUDA C++ is given as source";
}

}  // namespace

GivenObject read_object(const DeviceObject& given, WantedFunction function) {
  Object object{.name = function.symbol,
                .binary = given.bytes,
                .is_ptx = given.kind == Kind::Ptx,
                .is_lto = given.kind == Kind::LtoIr};
  char result = function.signature[0];
  if (object.is_ptx) {
    object.binary = whole_text(std::move(object.binary));
    result = check_ptx(object.binary, function);
  } else if (!object.is_lto) {
    result = check_cubin(object.binary, function);
  } else if (!object.binary.starts_with(kLtoIr)) {
    refuse_kind(function.where, Kind::LtoIr, object.binary);
  }
  object.given = std::move(function);
  return {std::move(object), result};
}

void check_lto(const Object& object, std::string_view made) {
  const PtxText text = read_ptx(made);
  std::vector<Offered> offered = offered_by(text);
  // The symbol is hidden in this PTX, because no other object calls it there.
  for (Offered& each : offered) each.is_visible = true;
  try {
    check_function(offered, *object.given);
  } catch (const InvalidArgument& error) {
    throw CompileError(error.what(), "");
  }
}

void check_architecture(const Object& object, const Target& target) {
  if (!object.given || object.is_lto) return;
  const Architecture ours(
      std::string_view(target.link_arch).substr(sizeof("sm_") - 1));
  const std::string text = object.is_ptx
                               ? read_ptx(object.binary).architecture
                               : concat(Cubin(object.binary).architecture());
  const Architecture theirs(text);
  if (object.is_ptx ? runs_on(ours, theirs)
                    : ours.number / 10 == theirs.number / 10 &&
                          theirs.number <= ours.number)
    return;
  throw CompileError(
      object.is_ptx
          ? concat(object.name, ": expected PTX for ", target.link_arch,
                   " or an older architecture, got PTX for sm_", text,
                   theirs.suffix.empty() ? "" : ", which no other runs")
          : concat(object.name, ": expected a CUBIN for ", target.link_arch,
                   " or an older one of its generation, got one for sm_", text),
      "");
}

ModuleImage read_image(std::string bytes, const std::string& name) {
  ModuleImage made;
  if (bytes.starts_with(kElf)) {
    if (const auto architecture = cubin_architecture(bytes))
      made.target.arch = concat("sm_", *architecture);
  } else {
    // Some compilers write the zero that ends the text.
    bytes.erase(bytes.find_last_not_of('\0') + 1);
    const std::string architecture = read_ptx(bytes).architecture;
    if (!architecture.empty() && bytes.find('\0') == bytes.npos)
      made.target = {concat("compute_", architecture), true, {}};
  }
  if (made.target.arch.empty())
    throw InvalidArgument(
        concat(name, ": expected a CUBIN or PTX, got ", kind_of(bytes)));
  made.image.binary = std::move(bytes);
  return made;
}

}  // namespace gpuos::jit
