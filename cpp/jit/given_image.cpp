#include "jit/given_image.h"

#include <optional>
#include <string_view>

#include "base/concat.h"
#include "gpuos/error.h"
#include "jit/cubin.h"
#include "jit/image_format.h"
#include "jit/ptx_text.h"

namespace gpuos::jit {
namespace {

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
