#include "jit/given_image.h"

#include <optional>
#include <string_view>

#include "base/concat.h"
#include "gpuos/error.h"
#include "jit/cubin.h"

namespace gpuos::jit {
namespace {

constexpr std::string_view kElf =
    "\x7f"
    "ELF";
constexpr std::string_view kFatBinary = "\x50\xed\x55\xba";

// 90 of the ".target sm_90a, debug" of PTX.
std::string ptx_architecture(std::string_view text) {
  constexpr std::string_view kTarget = ".target sm_";
  const std::size_t at = text.find(kTarget);
  if (at == text.npos || text.find(".version") > at) return "";
  const std::string_view rest = text.substr(at + kTarget.size());
  return std::string(rest.substr(0, rest.find_first_not_of("0123456789abcf")));
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
    return "a fat binary, of which 'cuobjdump -xelf all' takes the CUBINs";
  if (bytes.find('\0') != bytes.npos) return "other bytes";
  return "text that is none; CUDA C++ is given as source";
}

}  // namespace

ModuleImage read_image(std::string bytes, const std::string& name) {
  ModuleImage made;
  if (bytes.starts_with(kElf)) {
    if (const auto architecture = cubin_architecture(bytes))
      made.target.arch = concat("sm_", *architecture);
  } else {
    // Some write the zero that ends the text.
    bytes.erase(bytes.find_last_not_of('\0') + 1);
    const std::string architecture = ptx_architecture(bytes);
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
