#include "jit/objects/object_symbols.h"

#include <cstring>

#include "base/concat.h"
#include "jit/objects/cubin.h"

namespace gpuos::jit {
namespace {

// These are from the ELF specification, and one is CUDA's for variables.
constexpr std::uint8_t kGlobal = 1;
constexpr std::uint8_t kFunction = 2;

}  // namespace

ObjectSymbols object_symbols(std::string_view cubin) {
  ObjectSymbols found;
  const Cubin image(cubin);
  for (const Symbol& symbol : image.symbols()) {
    if (symbol.binding != kGlobal || symbol.name.empty() ||
        symbol.name.starts_with('.'))
      continue;
    if (symbol.section == 0) {
      found.undefined.emplace_back(symbol.name);
    } else {
      found.defined.push_back({std::string(symbol.name),
                               static_cast<std::size_t>(symbol.bytes),
                               symbol.type == kFunction});
    }
  }
  return found;
}

std::optional<std::size_t> value_offset(std::string_view cubin,
                                        std::string_view variable) {
  const Cubin image(cubin);
  const auto index = image.find_symbol(variable);
  if (!index) return std::nullopt;
  const Symbol& symbol = image.symbols()[*index];
  if (symbol.section >= image.sections().size()) return std::nullopt;
  const Section& section = image.sections()[symbol.section];
  if (!section.has_content() || symbol.value > section.size ||
      symbol.bytes > section.size - symbol.value)
    return std::nullopt;
  return static_cast<std::size_t>(section.offset + symbol.value);
}

void put_addresses(std::string& image,
                   std::span<const SymbolAddress> addresses) {
  for (const SymbolAddress& each : addresses) {
    const auto at = value_offset(image, each.symbol);
    if (!at || image.size() - *at < sizeof each.address)
      fail_cubin(concat("expected a place for the address of ", each.symbol,
                        ", got none"));
    std::memcpy(image.data() + *at, &each.address, sizeof each.address);
  }
}

}  // namespace gpuos::jit
