// Resources of a CUBIN's functions, from files of a compiler, a cache or a
// user.
#include "jit/objects/elf_resources.h"

#include "gpuos/error.h"
#include "target.h"

namespace gpuos::jit {
namespace {

using fuzz::expect;

void check_all(std::string_view cubin) {
  for (const std::string& symbol : symbol_names(cubin)) {
    expect(has_symbol(cubin, symbol), "a symbol with a name is found");
    needs_symbol(cubin, symbol);
    try {
      const Resources needs = read_resources(cubin, symbol);
      expect(needs.shared_bytes == 0 || needs.uses_shared,
             "who has shared memory uses it");
    } catch (const CompileError&) {  // no function
    }
  }
}

}  // namespace
}  // namespace gpuos::jit

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  try {
    gpuos::jit::check_all(gpuos::fuzz::text_of(data, size));
  } catch (const gpuos::CompileError&) {
  }
  return 0;
}
