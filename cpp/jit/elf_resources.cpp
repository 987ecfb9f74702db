#include "jit/elf_resources.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "concat.h"
#include "gpuos/error.h"

// A CUBIN is a 64-bit little-endian ELF file for EM_CUDA. What is read here is
// written down nowhere; it was compared with cuobjdump -res-usage of CUDA 13.5
// on what NVRTC 12.4, 12.9, 13.0 and 13.5 make for sm_80, sm_90 and sm_120.
//
// .nv.info             records {format, attribute, size or value}; format 4 is
//                      followed by `size` bytes: symbol index, number
// .nv.info.<function>  the same for one function
// .nv.callgraph        pairs of symbol indices, in groups
// .nv.constant<bank>   of the image, or with .<kernel> of one kernel
// .nv.shared.<kernel>  static shared memory, and from sm_90 on the 1024 bytes
//                      that the system keeps for itself
//
// Constant banks: a kernel runs with the banks of its own image, so a function
// of another image reads something else there. Bank 0 is the exception: launch
// data at places that are the same for all kernels. Bank 3 holds __constant__
// variables, bank 2 what ptxas puts there: double constants up to sm_89 and
// jump tables of switch statements on all devices. The compiler is told to
// leave bank 2 alone; whatever is not bank 0 is counted, and refused.

namespace gpuos::jit {
namespace {

constexpr std::uint32_t kNoBits = 8;  // a section without content
constexpr std::uint16_t kMachineCuda = 190;
constexpr std::uint8_t kFrameSize = 0x11;
constexpr std::uint8_t kMinStackSize = 0x12;
constexpr std::uint8_t kRegisterCount = 0x2f;
constexpr std::uint8_t kBarrierCount = 0x4c;
constexpr std::uint32_t kDirectCalls = 0xffffffffu;

struct Section {
  std::string_view name;
  std::uint32_t type = 0;
  std::uint64_t flags = 0;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint32_t link = 0;
  std::uint32_t info = 0;
};

struct Symbol {
  std::string_view name;
  std::uint16_t section = 0;
};

struct Call {
  std::uint32_t caller = 0;  // indices into the symbol table
  std::uint32_t callee = 0;
};

struct Attribute {
  std::uint8_t id = 0;
  std::uint16_t value = 0;           // formats 2 and 3
  std::vector<std::uint32_t> words;  // format 4
};

[[noreturn]] void fail(std::string_view what) {
  throw CompileError(concat("cubin: ", what), "");
}

class Cubin {
 public:
  explicit Cubin(std::string_view bytes) : bytes_(bytes) {
    if (bytes.size() < 64 || bytes.substr(0, 4) != "\177ELF" || bytes[4] != 2 ||
        read<std::uint16_t>(18) != kMachineCuda) {
      fail(concat("expected a 64-bit ELF image for CUDA, got ", bytes.size(),
                  " bytes of something else"));
    }
    read_sections();
    read_symbols();
  }

  // 90 for sm_90. In e_flags; where depends on the version of the ABI.
  std::uint32_t architecture() const {
    const auto flags = read<std::uint32_t>(0x30);
    return (read<std::uint8_t>(8) >= 8 ? flags >> 8 : flags) & 0xff;
  }

  const std::vector<Section>& sections() const { return sections_; }
  const std::vector<Symbol>& symbols() const { return symbols_; }

  const Section* find_section(std::string_view name) const {
    const auto found = std::ranges::find(sections_, name, &Section::name);
    return found == sections_.end() ? nullptr : &*found;
  }

  // The index of a defined symbol.
  std::optional<std::uint32_t> find_symbol(std::string_view name) const {
    for (std::uint32_t i = 1; i < symbols_.size(); ++i) {
      if (symbols_[i].name == name && symbols_[i].section != 0) return i;
    }
    return std::nullopt;
  }

  std::vector<Attribute> attributes(std::string_view section_name) const {
    std::vector<Attribute> found;
    const Section* section = find_section(section_name);
    if (section == nullptr) return found;
    std::uint64_t at = section->offset;
    const std::uint64_t end = at + section->size;
    while (at + 4 <= end) {
      Attribute attribute;
      const auto format = read<std::uint8_t>(at);
      attribute.id = read<std::uint8_t>(at + 1);
      attribute.value = read<std::uint16_t>(at + 2);
      at += 4;
      if (format == 4) {
        for (std::uint64_t i = 0; i + 4 <= attribute.value; i += 4)
          attribute.words.push_back(read<std::uint32_t>(at + i));
        at += attribute.value;
      } else if (format == 2) {
        attribute.value &= 0xff;
      }
      found.push_back(std::move(attribute));
    }
    return found;
  }

  // Direct calls: the first of the groups that a pair (0, marker) begins.
  // Later groups pair functions with the types of their pointers.
  std::vector<Call> calls() const {
    std::vector<Call> found;
    const Section* section = find_section(".nv.callgraph");
    if (section == nullptr) return found;
    for (std::uint64_t i = 0; i + 8 <= section->size; i += 8) {
      const Call call{.caller = read<std::uint32_t>(section->offset + i),
                      .callee = read<std::uint32_t>(section->offset + i + 4)};
      if (call.caller != 0) found.push_back(call);
      if (call.caller == 0 && call.callee != kDirectCalls) break;
    }
    return found;
  }

 private:
  template <typename T>
  T read(std::uint64_t at) const {
    static_assert(std::is_trivially_copyable_v<T>);
    if (at > bytes_.size() || bytes_.size() - at < sizeof(T))
      fail(concat("truncated at byte ", at, " of ", bytes_.size()));
    T value;
    std::memcpy(&value, bytes_.data() + at, sizeof(T));
    return value;
  }

  std::string_view text(const Section& table, std::uint32_t at) const {
    const std::uint64_t begin = table.offset + at;
    if (begin >= bytes_.size()) fail("a name outside the image");
    const std::string_view rest = bytes_.substr(begin);
    return rest.substr(0, rest.find('\0'));
  }

  void read_sections() {
    const auto table = read<std::uint64_t>(0x28);
    const auto count = read<std::uint16_t>(0x3c);
    const auto names = read<std::uint16_t>(0x3e);
    std::vector<std::uint32_t> name_at(count);
    for (std::uint16_t i = 0; i < count; ++i) {
      const std::uint64_t at = table + 64u * i;
      name_at[i] = read<std::uint32_t>(at);
      sections_.push_back(Section{.name = {},
                                  .type = read<std::uint32_t>(at + 4),
                                  .flags = read<std::uint64_t>(at + 8),
                                  .offset = read<std::uint64_t>(at + 24),
                                  .size = read<std::uint64_t>(at + 32),
                                  .link = read<std::uint32_t>(at + 40),
                                  .info = read<std::uint32_t>(at + 44)});
    }
    for (const Section& section : sections_) {
      const bool fits = section.offset <= bytes_.size() &&
                        section.size <= bytes_.size() - section.offset;
      if (section.type != kNoBits && !fits)
        fail(concat("truncated: a section ends at ",
                    section.offset + section.size, " of ", bytes_.size()));
    }
    if (names >= count) fail("no section names");
    for (std::uint16_t i = 0; i < count; ++i)
      sections_[i].name = text(sections_[names], name_at[i]);
  }

  void read_symbols() {
    const Section* table = find_section(".symtab");
    if (table == nullptr || table->link >= sections_.size()) return;
    for (std::uint64_t i = 0; i + 24 <= table->size; i += 24) {
      const std::uint64_t at = table->offset + i;
      symbols_.push_back(
          Symbol{.name = text(sections_[table->link], read<std::uint32_t>(at)),
                 .section = read<std::uint16_t>(at + 6)});
    }
  }

  std::string_view bytes_;
  std::vector<Section> sections_;
  std::vector<Symbol> symbols_;
};

// Walks from a function through everything that it calls.
class CallTree {
 public:
  explicit CallTree(const Cubin& cubin)
      : cubin_(cubin),
        calls_(cubin.calls()),
        info_(cubin.attributes(".nv.info")) {}

  // The number that .nv.info gives for a function.
  std::optional<std::uint32_t> number(std::uint8_t id,
                                      std::uint32_t function) const {
    for (const Attribute& attribute : info_) {
      if (attribute.id == id && attribute.words.size() >= 2 &&
          attribute.words[0] == function)
        return attribute.words[1];
    }
    return std::nullopt;
  }

  Resources walk(std::uint32_t function) {
    Resources needs = own(function);
    std::uint32_t deepest = 0;
    above_.insert(function);
    for (const Call& call : calls_) {
      if (call.caller != function) continue;
      if (above_.contains(call.callee)) {
        deepest = Resources::kUnbounded;
        continue;
      }
      const Resources below = walk(call.callee);
      needs.registers = std::max(needs.registers, below.registers);
      needs.barriers = std::max(needs.barriers, below.barriers);
      deepest = std::max(deepest, below.stack_bytes);
    }
    above_.erase(function);
    needs.stack_bytes = deepest == Resources::kUnbounded
                            ? deepest
                            : needs.stack_bytes + deepest;
    return needs;
  }

 private:
  Resources own(std::uint32_t function) const {
    if (function >= cubin_.symbols().size()) fail("a call of no symbol");
    const std::string_view name = cubin_.symbols()[function].name;
    Resources needs;
    needs.registers = number(kRegisterCount, function).value_or(0);
    needs.stack_bytes = number(kFrameSize, function).value_or(0);
    for (const Attribute& own : cubin_.attributes(concat(".nv.info.", name))) {
      if (own.id == kBarrierCount && own.words.empty())
        needs.barriers = own.value;
    }
    if (const Section* code = cubin_.find_section(concat(".text.", name))) {
      // CUDA 12 keeps both here; CUDA 13 leaves them 0.
      const auto barriers =
          static_cast<std::uint32_t>(code->flags >> 20) & 0x7f;
      needs.registers = std::max(needs.registers, code->info >> 24);
      needs.barriers = std::max(needs.barriers, barriers);
    }
    return needs;
  }

  const Cubin& cubin_;
  std::vector<Call> calls_;
  std::vector<Attribute> info_;
  std::set<std::uint32_t> above_;  // the callers of what is being walked
};

std::uint32_t constant_bytes(const Cubin& cubin) {
  std::uint64_t bytes = 0;
  for (const Section& section : cubin.sections()) {
    constexpr std::string_view kBank = ".nv.constant";
    constexpr std::string_view kLaunchBank = ".nv.constant0";
    if (section.name.starts_with(kBank) &&
        !section.name.starts_with(kLaunchBank))
      bytes += section.size;
  }
  return static_cast<std::uint32_t>(bytes);
}

void add_shared(const Cubin& cubin, std::string_view function,
                Resources& resources) {
  const Section* section = cubin.find_section(concat(".nv.shared.", function));
  if (section == nullptr) return;
  resources.uses_shared = true;
  const std::uint64_t reserved = cubin.architecture() >= 90 ? 1024 : 0;
  resources.shared_bytes = static_cast<std::uint32_t>(
      section->size - std::min(section->size, reserved));
}

}  // namespace

Resources read_resources(std::string_view cubin, std::string_view function) {
  const Cubin image(cubin);
  const auto symbol = image.find_symbol(function);
  if (!symbol || image.find_section(concat(".text.", function)) == nullptr)
    fail(concat("no function ", function));
  CallTree tree(image);
  Resources resources = tree.walk(*symbol);
  // Of a kernel the linker knows more: calls through pointers too.
  if (const auto bytes = tree.number(kMinStackSize, *symbol))
    resources.stack_bytes = *bytes;
  resources.constant_bytes = constant_bytes(image);
  add_shared(image, function, resources);
  return resources;
}

bool has_symbol(std::string_view cubin, std::string_view symbol) {
  return Cubin(cubin).find_symbol(symbol).has_value();
}

std::set<std::string> symbol_names(std::string_view cubin) {
  std::set<std::string> names;
  const Cubin image(cubin);
  for (const Symbol& symbol : image.symbols()) {
    // Sections have symbols of their own names.
    if (symbol.section == 0 || symbol.name.starts_with('.')) continue;
    names.emplace(symbol.name);
  }
  return names;
}

}  // namespace gpuos::jit
