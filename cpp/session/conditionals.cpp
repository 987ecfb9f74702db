#include "session/conditionals.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "base/concat.h"
#include "session/header.h"

namespace gpuos::session {
namespace {

constexpr std::string_view kChosen = "gpuos_part_";

}  // namespace

std::string choice_text(const Conditional& conditional,
                        const std::string& cell) {
  std::string text;
  std::size_t part = 0;
  bool has_else = false;
  for (const Item& line : conditional.lines) {
    const std::size_t word = line.text.find_first_not_of("# \t");
    has_else = line.text.compare(word, 4, "else") == 0;
    text += placed(line.header, line, cell) +
            concat("#error ", kChosen, part++, "\n");
  }
  if (!has_else) text += concat("#else\n#error ", kChosen, part, "\n");
  return text + "#endif\n";
}

std::optional<std::size_t> chosen_in(const std::string& log) {
  const std::size_t first = std::min(log.find(" error: "), log.size());
  const std::size_t at = log.find(kChosen, first);
  if (at == log.npos || log.find('\n', first) < at) return std::nullopt;
  std::size_t chosen = 0;
  const char* const begin = log.data() + at + kChosen.size();
  std::from_chars(begin, log.data() + log.size(), chosen);
  return chosen;
}

}  // namespace gpuos::session
