#include "jit/variable_types.h"

#include <utility>

#include "base/concat.h"
#include "gpuos/error.h"
#include "jit/module_compiler.h"
#include "jit/symbols.h"

namespace gpuos::jit {
namespace {

// An instance of it has the type in its symbol.
constexpr const char* kSpeller =
    "\ntemplate <typename T> __global__ void gpuos_type_of() {}\n";

std::string asking_for(std::string_view name) {
  if (name.starts_with('&')) name.remove_prefix(1);
  return concat("gpuos_type_of<decltype(", demangled(std::string(name)), ")>");
}

// "float [4]" of "void gpuos_type_of<float [4]>()".
std::string spelled(const std::string& symbol) {
  const std::string text = demangled(symbol);
  const std::size_t open = text.find('<'), close = text.rfind('>');
  if (open == text.npos || close == text.npos || close < open) return "";
  return text.substr(open + 1, close - open - 1);
}

}  // namespace

std::map<std::string, std::string> variable_types(
    const JitSource& source, std::span<const std::string> names,
    std::optional<int> compute_capability, std::stop_token stop) {
  JitSource asking = source;
  asking.source += kSpeller;
  for (const std::string& name : names)
    asking.name_expressions.push_back(asking_for(name));
  std::map<std::string, std::string> types;
  try {
    const auto compiled =
        compile_module(asking, compute_capability, std::move(stop));
    for (const std::string& name : names) {
      for (const LoweredName& symbol : compiled->image.symbols) {
        if (symbol.name == asking_for(name))
          types[name] = spelled(symbol.symbol);
      }
    }
  } catch (const CompileError&) {
    // A name that is no variable: whoever looks for it says so.
    types.clear();
  }
  return types;
}

}  // namespace gpuos::jit
