#include "session/questions.h"

#include "base/concat.h"

namespace gpuos::session {
namespace {

constexpr std::string_view kEnd = "gpuos_end_of_questions";

// Returns the file in which the compiler finds the question.
std::string file_of(std::size_t index) {
  return concat("gpuos_question_", index, ".");
}

}  // namespace

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
