#include "jit/objects/cubin.h"

#include <algorithm>
#include <array>

#include "base/concat.h"
#include "gpuos/error.h"

namespace gpuos::jit {
namespace {

constexpr std::uint16_t kMachineCuda = 190;
constexpr std::uint16_t kRelocatable = 1;  // one of ELF's types
constexpr std::uint32_t kDirectCalls = 0xffffffffu;

// Lists types of sections without content: ELF's own, and CUDA's. CUDA has them
// for variables that begin with zeros, and for local and shared memory.
constexpr std::array<std::uint32_t, 4> kWithoutContent = {
    8, 0x70000007u, 0x70000009u, 0x7000000au};

}  // namespace

bool Section::has_content() const {
  return std::ranges::find(kWithoutContent, type) == kWithoutContent.end();
}

void fail_cubin(std::string_view what) {
  throw CompileError(concat("cubin: ", what), "");
}

void Cubin::fail_truncated(std::uint64_t at) const {
  fail_cubin(concat("truncated at byte ", at, " of ", bytes_.size()));
}

Cubin::Cubin(std::string_view bytes) : bytes_(bytes) {
  if (bytes.size() < 64 || bytes.substr(0, 4) != "\177ELF" || bytes[4] != 2 ||
      read<std::uint16_t>(18) != kMachineCuda) {
    fail_cubin(concat("expected a 64-bit ELF image for CUDA, got ",
                      bytes.size(), " bytes of something else"));
  }
  read_sections();
  read_symbols();
}

std::uint32_t Cubin::architecture() const {
  const auto flags = read<std::uint32_t>(0x30);
  return (read<std::uint8_t>(8) >= 8 ? flags >> 8 : flags) & 0xff;
}

bool Cubin::is_relocatable() const {
  return read<std::uint16_t>(16) == kRelocatable;
}

const Section* Cubin::find_section(std::string_view name) const {
  const auto found = std::ranges::find(sections_, name, &Section::name);
  return found == sections_.end() ? nullptr : &*found;
}

std::optional<std::uint32_t> Cubin::find_symbol(std::string_view name) const {
  for (std::uint32_t i = 0; i < symbols_.size(); ++i) {
    if (symbols_[i].name == name && symbols_[i].section != 0) return i;
  }
  return std::nullopt;
}

std::vector<Attribute> Cubin::attributes(std::string_view section_name) const {
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

// Returns the first group. A pair (0, marker) begins each group. Later groups
// pair functions with the types of their pointers.
std::vector<CallEdge> Cubin::calls() const {
  std::vector<CallEdge> found;
  const Section* section = find_section(".nv.callgraph");
  if (section == nullptr) return found;
  for (std::uint64_t i = 0; i + 8 <= section->size; i += 8) {
    const CallEdge call{.caller = read<std::uint32_t>(section->offset + i),
                        .callee = read<std::uint32_t>(section->offset + i + 4)};
    if (call.caller != 0) found.push_back(call);
    if (call.caller == 0 && call.callee != kDirectCalls) break;
  }
  return found;
}

// The section has pairs of a symbol's index and a place among the symbols'
// names.
std::string_view Cubin::prototype(std::uint32_t symbol) const {
  const Section* pairs = find_section(".nv.prototype");
  const Section* table = find_section(".symtab");
  if (pairs == nullptr || table == nullptr || table->link >= sections_.size())
    return {};
  for (std::uint64_t i = 0; i + 8 <= pairs->size; i += 8) {
    if (read<std::uint32_t>(pairs->offset + i) == symbol)
      return text(sections_[table->link],
                  read<std::uint32_t>(pairs->offset + i + 4));
  }
  return {};
}

std::string_view Cubin::text(const Section& table, std::uint32_t at) const {
  const std::uint64_t begin = table.offset + at;
  if (begin >= bytes_.size()) fail_cubin("a name outside the image");
  const std::string_view rest = bytes_.substr(begin);
  return rest.substr(0, rest.find('\0'));
}

void Cubin::read_sections() {
  const auto table = read<std::uint64_t>(0x28);
  const auto count = read<std::uint16_t>(0x3c);
  const auto names = read<std::uint16_t>(0x3e);
  // The code below does not read the ends of sections.
  if (table > bytes_.size() || bytes_.size() - table < 64u * count)
    fail_truncated(bytes_.size());
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
    if (section.has_content() && !fits)
      fail_cubin(concat("truncated: a section ends at ",
                        section.offset + section.size, " of ", bytes_.size()));
  }
  if (names >= count) fail_cubin("no section names");
  for (std::uint16_t i = 0; i < count; ++i)
    sections_[i].name = text(sections_[names], name_at[i]);
}

void Cubin::read_symbols() {
  const Section* table = find_section(".symtab");
  if (table == nullptr || table->link >= sections_.size()) return;
  for (std::uint64_t i = 0; i + 24 <= table->size; i += 24) {
    const std::uint64_t at = table->offset + i;
    const auto info = read<std::uint8_t>(at + 4);
    symbols_.push_back(
        Symbol{.name = text(sections_[table->link], read<std::uint32_t>(at)),
               .type = static_cast<std::uint8_t>(info & 0xf),
               .binding = static_cast<std::uint8_t>(info >> 4),
               .other = read<std::uint8_t>(at + 5),
               .section = read<std::uint16_t>(at + 6),
               .value = read<std::uint64_t>(at + 8),
               .bytes = read<std::uint64_t>(at + 16)});
  }
}

}  // namespace gpuos::jit
