#include "session/device/questions.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "base/concat.h"
#include "session/device/header.h"

namespace gpuos::session {
namespace {

constexpr std::string_view kChosen = "gpuos_part_";

constexpr std::string_view kEnd = "gpuos_end_of_questions";

// Returns the file in which the compiler finds the question.
std::string file_of(std::size_t index) {
  return concat("gpuos_question_", index, ".");
}

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

std::string questions_of(const std::vector<std::string>& lines) {
  std::string text;
  for (std::size_t i = 0; i < lines.size(); ++i)
    text += concat("#line 1 \"", file_of(i), "\"\n", lines[i], "\n");
  // A template without an end is a fatal error. The compiler stops there,
  // before it makes the instances that headers ask for.
  return concat(text, "#line 1 \"", kEnd,
                "\"\ntemplate <int gpuos_n> struct gpuos_deep : "
                "gpuos_deep<gpuos_n + 1> {};\n"
                "gpuos_deep<0> gpuos_end;\n");
}

std::vector<bool> answers_in(const std::string& log, std::size_t count) {
  std::vector<bool> answers;
  if (log.find(kEnd) == log.npos) return answers;
  for (std::size_t i = 0; i < count; ++i)
    answers.push_back(log.find(file_of(i)) == log.npos);
  return answers;
}

}  // namespace gpuos::session
