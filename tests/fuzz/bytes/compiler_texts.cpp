// Output of compilers: logs, PTX and the names in them. The first byte selects
// the parser of the others.
#include "gpuos/error.h"
#include "jit/symbols.h"
#include "jit/toolkit/compile_log.h"
#include "target.h"

namespace gpuos::jit {
namespace {

using fuzz::expect;

void check_log(const std::string& log) {
  const FirstError error = first_error(log);
  expect(error.place.column >= 0, "a column is not negative");
  wrong_name_expression(log);
  missing_header(log);
  with_demangled_names(log);
}

void check_ptx(const std::string& ptx) {
  const Image image{.binary = ptx, .entries = {}};
  for (const std::string& symbol : defined_symbols(ptx)) {
    parameter_types(symbol);
    callers_of(ptx, symbol);
    expect(resolve_name(image, symbol, "module") == symbol,
           "a symbol means itself");
  }
  try {
    resolve_name(image, "k", "module");
  } catch (const InvalidArgument&) {
  }
}

}  // namespace
}  // namespace gpuos::jit

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  if (size == 0) return 0;
  const std::string text(gpuos::fuzz::text_of(data + 1, size - 1));
  try {
    if (data[0] == 'l') gpuos::jit::check_log(text);
    if (data[0] == 'p') gpuos::jit::check_ptx(text);
  } catch (const gpuos::CompileError&) {  // an image that is no CUBIN
  }
  return 0;
}
