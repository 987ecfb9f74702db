// Sections and symbols of a CUBIN, and the places where values are written.
#include "jit/objects/cubin.h"

#include <functional>

#include "gpuos/error.h"
#include "jit/objects/object_symbols.h"
#include "target.h"

namespace gpuos::jit {
namespace {

using fuzz::expect;

bool is_within(std::string_view part, std::string_view whole) {
  return part.empty() || (!std::less<>{}(part.data(), whole.data()) &&
                          !std::less<>{}(whole.data() + whole.size(),
                                         part.data() + part.size()));
}

void check_sections(const Cubin& image, std::string_view bytes) {
  for (const Section& section : image.sections()) {
    expect(is_within(section.name, bytes), "a section's name is in the file");
    if (section.has_content())
      expect(section.offset <= bytes.size() &&
                 section.size <= bytes.size() - section.offset,
             "a section is in the file");
    try {
      image.attributes(section.name);
    } catch (const CompileError&) {
    }
  }
}

void check_value(std::string_view bytes, const Symbol& symbol) {
  const auto at = value_offset(bytes, symbol.name);
  if (at) expect(*at <= bytes.size(), "a value is in the file");
  std::string changed(bytes);
  const SymbolAddress address{std::string(symbol.name), 0x0123456789abcdefu};
  try {
    put_addresses(changed, {&address, 1});
  } catch (const CompileError&) {
    return;
  }
  expect(changed.size() == bytes.size(), "an address makes no image longer");
  expect(at.has_value(), "an address is put where the value is");
  changed.replace(*at, sizeof address.address,
                  bytes.substr(*at, sizeof address.address));
  expect(changed == bytes, "an address changes eight bytes");
}

void check(std::string_view bytes) {
  const Cubin image(bytes);
  image.architecture();
  check_sections(image, bytes);
  // Each name needs a search of the whole file.
  constexpr std::size_t kMost = 32;
  std::size_t count = 0;
  for (const Symbol& symbol : image.symbols()) {
    expect(is_within(symbol.name, bytes), "a symbol's name is in the file");
    if (count++ < kMost) check_value(bytes, symbol);
  }
  object_symbols(bytes);
  image.calls();
}

}  // namespace
}  // namespace gpuos::jit

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  try {
    gpuos::jit::check(gpuos::fuzz::text_of(data, size));
  } catch (const gpuos::CompileError&) {
  }
  return 0;
}
