#include "jit/variable_types.h"

#include <utility>

#include "base/concat.h"
#include "gpuos/error.h"
#include "jit/module_compiler.h"
#include "jit/symbols.h"

namespace gpuos::jit {
namespace {

// Returns "float [4]" of "void gpuos_type_of<float [4]>()", and of a reference
// to it. An instance has the type in its symbol.
std::string spelled(const std::string& symbol) {
  const std::string text = demangled(symbol);
  const std::size_t open = text.find('<'), close = text.rfind('>');
  if (open == text.npos || close == text.npos || close < open) return "";
  std::string type = text.substr(open + 1, close - open - 1);
  constexpr std::string_view kReference = "(&) ";
  if (type.ends_with('&')) {
    type.pop_back();
  } else if (const auto at = type.find(kReference); at != type.npos) {
    type.erase(at, kReference.size());
  }
  return type;
}

}  // namespace

std::string type_question(std::string_view name) {
  if (name.starts_with('&')) name.remove_prefix(1);
  return concat("gpuos_type_of<decltype(", demangled(std::string(name)), ")>");
}

std::string type_answer(std::span<const LoweredName> symbols,
                        std::string_view name) {
  const std::string asked = type_question(name);
  for (const LoweredName& symbol : symbols) {
    if (symbol.name == asked) return spelled(symbol.symbol);
  }
  return "";
}

std::map<std::string, std::string> variable_types(
    const JitSource& source, std::span<const std::string> names,
    std::optional<int> compute_capability, std::stop_token stop) {
  JitSource asking = source;
  asking.source += kTypeSpeller;
  for (const std::string& name : names)
    asking.name_expressions.push_back(type_question(name));
  std::map<std::string, std::string> types;
  try {
    const auto compiled =
        compile_module(asking, compute_capability, std::move(stop));
    for (const std::string& name : names) {
      const std::string type = type_answer(compiled->image.symbols, name);
      if (!type.empty()) types[name] = type;
    }
  } catch (const CompileError&) {
    // The name is no variable, and the function that searches for it says so.
    types.clear();
  }
  return types;
}

}  // namespace gpuos::jit
