#include "jit/source_inputs.h"

#include <algorithm>
#include <unordered_set>

#include "base/concat.h"
#include "base/embedded.h"
#include "jit/logical_lines.h"
#include "jit/standard_headers.h"

namespace gpuos::jit {
namespace {

using Names = std::vector<std::string>;

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != text.npos;
}

void skip_blank(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlank), text.size()));
}

bool skip(std::string_view& text, std::string_view part) {
  skip_blank(text);
  if (!text.starts_with(part)) return false;
  text.remove_prefix(part.size());
  return true;
}

// "name" or <name>; what follows is left in `text`.
std::optional<std::string> quoted_name(std::string_view& text) {
  skip_blank(text);
  if (text.empty() || (text.front() != '"' && text.front() != '<'))
    return std::nullopt;
  const std::size_t end = text.find(text.front() == '"' ? '"' : '>', 1);
  if (end == text.npos) return std::nullopt;
  const bool is_literal = text.front() == '"';
  std::string name(text.substr(1, end - 1));
  // In <a b> there may have been a comment, in <""> a raw string: no compiler
  // looks for them there.
  if (!is_literal && name.find_first_of(" \"") != name.npos)
    return std::nullopt;
  text.remove_prefix(end + 1);
  return name;
}

// Adds the headers that a condition asks for, by __has_include or by a macro
// for it: each (<name>) and ("name").
void add_asked(std::string_view condition, Names& names) {
  for (auto at = condition.find('('); at != condition.npos;
       at = condition.find('(')) {
    condition.remove_prefix(at + 1);
    if (auto name = quoted_name(condition)) names.push_back(*std::move(name));
  }
}

// __has_include of a macro, whose name only the compiler knows.
bool asks_for_macro(std::string_view condition) {
  constexpr std::string_view kAsks = "__has_include";
  for (auto at = condition.find(kAsks); at != condition.npos;
       at = condition.find(kAsks)) {
    condition.remove_prefix(at + kAsks.size());
    if (skip(condition, "(") && !quoted_name(condition)) return true;
  }
  return false;
}

// False: it cannot be told.
bool add_directive(std::string_view directive, Names& names) {
  if (skip(directive, "include")) {
    auto name = quoted_name(directive);
    skip_blank(directive);
    if (!name || !directive.empty()) return false;
    names.push_back(*std::move(name));
    return true;
  }
  if (skip(directive, "embed") || has(directive, "__has_embed")) return false;
  const bool is_condition = skip(directive, "if") || skip(directive, "elif");
  if (is_condition && asks_for_macro(directive)) return false;
  if (is_condition || has(directive, "__has_include"))
    add_asked(directive, names);
  return true;
}

}  // namespace

bool is_embedded(std::string_view name) {
  static const auto* const names = new std::unordered_set<std::string>([] {
    std::unordered_set<std::string> all;
    for (const EmbeddedFile& file : embedded_files()) {
      all.emplace(file.name);
      all.insert(concat("gpuos/", file.name));
    }
    for (const StandardHeader& header : standard_headers())
      all.emplace(header.name);
    return all;
  }());
  return names->contains(std::string(name));
}

std::optional<Names> includes_of(std::string_view source) {
  for (const std::string_view clock :
       {"__DATE__", "__TIME__", "__TIMESTAMP__"}) {
    if (has(source, clock)) return std::nullopt;
  }
  const auto plain = logical_lines(source);
  if (!plain) return std::nullopt;
  Names names;
  for (std::string_view rest = *plain; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (!skip(line, "#") && !skip(line, "%:")) continue;
    if (!add_directive(line, names)) return std::nullopt;
  }
  return names;
}

bool stands_alone(std::string_view source) {
  const auto names = includes_of(source);
  return names && std::ranges::all_of(*names, is_embedded);
}

}  // namespace gpuos::jit
