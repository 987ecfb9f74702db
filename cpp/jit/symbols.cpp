#include "jit/symbols.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <utility>

#include "base/c_text.h"
#include "base/concat.h"
#include "gpuos/error.h"
#include "jit/module_compiler.h"
#include "jit/objects/elf_resources.h"

namespace gpuos::jit {
namespace {

constexpr std::string_view kWord =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$";
constexpr std::string_view kElfMagic =
    "\x7f"
    "ELF";

// Reads ".visible .entry name(", ".weak .entry name(" of a template's instance,
// and ".global .align 4 .b8 name[16]".
std::set<std::string> ptx_symbols(std::string_view ptx) {
  std::set<std::string> names;
  while (!ptx.empty()) {
    const std::string_view line = cut_until(ptx, '\n');
    if (!line.starts_with(".visible") && !line.starts_with(".global") &&
        !line.starts_with(".const") && !line.starts_with(".weak .entry"))
      continue;
    const std::size_t stop = std::min(line.find_first_of("([;="), line.size());
    const std::size_t last = line.substr(0, stop).find_last_of(kWord);
    if (last == line.npos) continue;
    const std::size_t first = line.substr(0, last).find_last_not_of(kWord);
    names.emplace(line.substr(first + 1, last - first));
  }
  return names;
}

// Returns where the parameters of a demangled function begin. Returns npos for
// a variable.
std::size_t parameters_at(std::string_view text) {
  int depth = 0;
  for (std::size_t i = text.size(); i-- > 0;) {
    if (text[i] == ')') ++depth;
    if (text[i] == '(' && --depth == 0) return i;
  }
  return text.npos;
}

// Returns whether a symbol has this name: "k" for "void k<float>(float*)" and
// for "ns::k".
bool is_called(const std::string& symbol, std::string_view name) {
  const std::string text = demangled(symbol);
  const std::string_view whole =
      std::string_view(text).substr(0, parameters_at(text));
  if (whole == name) return true;
  return whole.size() > name.size() && whole.ends_with(name) &&
         whole[whole.size() - name.size() - 1] == ' ';
}

std::string listed(const Image& image) {
  std::string text;
  const auto add = [&](const std::string& name) {
    text += (text.empty() ? "" : ", ") + name;
  };
  for (const LoweredName& symbol : image.symbols) add(symbol.name);
  const std::set<std::string> all = defined_symbols(image.binary);
  for (const std::string& symbol : all) {
    const bool is_listed = std::ranges::any_of(
        image.symbols,
        [&](const LoweredName& known) { return known.symbol == symbol; });
    if (!is_listed && !symbol.starts_with("__nv_")) add(demangled(symbol));
  }
  return text.empty() ? "nothing" : text;
}

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

std::string demangled(const std::string& symbol) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status),
      &std::free);
  // __cxa_demangle() takes a plain name for a type: "f" is "float".
  if (status != 0 || !symbol.starts_with("_Z")) return symbol;
  return text.get();
}

std::string with_demangled_names(std::string text) {
  for (std::size_t at = text.find("_Z"); at != text.npos;
       at = text.find("_Z", at)) {
    const std::size_t end =
        std::min(text.find_first_not_of(kWord, at), text.size());
    const std::string name = demangled(text.substr(at, end - at));
    text.replace(at, end - at, name);
    // The loop skips a name that stays mangled.
    at += name.size();
  }
  return text;
}

std::vector<std::string> callers_of(std::string_view ptx,
                                    const std::string& symbol) {
  std::vector<std::string> callers;
  std::string function;
  while (!ptx.empty()) {
    const std::string_view line = cut_until(ptx, '\n');
    const bool is_head =
        line.find(".func") != line.npos || line.find(".entry") != line.npos;
    if (is_head) {
      const std::size_t last = line.find_last_of(kWord);
      const std::size_t first = line.substr(0, last).find_last_not_of(kWord);
      function = line.substr(first + 1, last - first);
    }
    // The call "call.uni (retval0), _Z1gi, (param0);" has several lines.
    const std::size_t found = line.find(symbol);
    const std::size_t after = found + symbol.size();
    const bool is_call =
        found != line.npos && !is_head && function != symbol &&
        (after >= line.size() || kWord.find(line[after]) == kWord.npos);
    const std::string name = demangled(function);
    if (is_call && std::ranges::find(callers, name) == callers.end())
      callers.push_back(name);
  }
  return callers;
}

std::set<std::string> defined_symbols(std::string_view binary) {
  return binary.starts_with(kElfMagic) ? symbol_names(binary)
                                       : ptx_symbols(binary);
}

std::string resolve_name(const Image& image, std::string_view name,
                         std::string_view module) {
  for (const LoweredName& symbol : image.symbols) {
    if (symbol.name == name) return symbol.symbol;
  }
  const std::set<std::string> all = defined_symbols(image.binary);
  if (all.contains(std::string(name))) return std::string(name);
  std::vector<std::string> found;
  for (const std::string& symbol : all) {
    if (is_called(symbol, name)) found.push_back(symbol);
  }
  if (found.size() == 1) return found.front();
  if (found.empty())
    throw InvalidArgument(concat(
        module, ": expected the name of a kernel or variable (", listed(image),
        "; templates are named in name_expressions), got '", name, "'"));
  throw InvalidArgument(concat(module, ": '", name, "' means ", found.size(),
                               " functions; name one in name_expressions, such "
                               "as '(void (*)(float*))",
                               name, "'"));
}

std::optional<std::vector<std::string>> parameter_types(
    const std::string& symbol) {
  const std::string text = demangled(symbol);
  const std::size_t open = parameters_at(text);
  if (text == symbol || open == text.npos) return std::nullopt;
  std::vector<std::string> types;
  std::string type;
  int depth = 0;
  for (std::size_t i = open + 1; i < text.size(); ++i) {
    const char c = text[i];
    const bool is_end = depth == 0 && (c == ',' || c == ')');
    if (is_end) {
      type.erase(0, type.find_first_not_of(' '));
      types.push_back(std::move(type));
      type.clear();
      if (c == ')') break;
      continue;
    }
    depth +=
        (c == '(' || c == '<' || c == '{') - (c == ')' || c == '>' || c == '}');
    type += c;
  }
  if (types.size() == 1 && (types[0].empty() || types[0] == "void"))
    types.clear();
  return types;
}

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
