#include "session/questions.h"

#include "base/concat.h"

namespace gpuos::session {
namespace {

constexpr std::string_view kEnd = "gpuos_end_of_questions";

// The file in which the compiler finds the question.
std::string file_of(std::size_t index) {
  return concat("gpuos_question_", index, ".");
}

}  // namespace

std::string questions_about(const std::set<std::string>& names) {
  std::string text;
  std::size_t index = 0;
  for (const std::string& name : names) {
    text += concat("#line 1 \"", file_of(index), "\"\nusing gpuos_type_", index,
                   " = ", name, ";\n");
    ++index;
  }
  // A template without an end is a fatal error: the compiler stops there,
  // before it makes the instances that headers ask for.
  return concat(text, "#line 1 \"", kEnd,
                "\"\ntemplate <int gpuos_n> struct gpuos_deep : "
                "gpuos_deep<gpuos_n + 1> {};\n"
                "gpuos_deep<0> gpuos_end;\n");
}

std::map<std::string, NameKind> answers_in(const std::string& log,
                                           const std::set<std::string>& names) {
  std::map<std::string, NameKind> answers;
  if (log.find(kEnd) == log.npos) return answers;
  std::size_t index = 0;
  for (const std::string& name : names) {
    const bool is_type = log.find(file_of(index++)) == log.npos;
    answers[name] = is_type ? NameKind::Type : NameKind::Value;
  }
  return answers;
}

}  // namespace gpuos::session
