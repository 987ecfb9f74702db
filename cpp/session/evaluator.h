#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gpuos/kernel_args.h"
#include "session/compiling.h"
#include "session/header.h"
#include "session/launch_syntax.h"

namespace gpuos::session {

/// A constant expression and the type that its value is wanted as.
struct Question {
  LaunchExpression expression;
  std::string type;  // "dim3", "float"; empty: the expression's own
};

/// The value of a literal as a number; empty if the text is no literal.
std::optional<Scalar> literal(const std::string& text);

/// The values of constant expressions, which the compiler finds. They may use
/// what the session's header has, and numbers that are bound.
class Evaluator {
 public:
  Evaluator(const Header& header, Compiler& compiler)
      : header_(header), compiler_(compiler) {}

  /// The bytes of each value.
  /// Throws: CompileError at the expression's place in `cell`.
  std::vector<std::string> evaluate(
      std::span<const Question> questions, const std::string& cell,
      const std::map<std::string, KernelArg, std::less<>>& bound);

 private:
  static constexpr std::size_t kMost = 1024;

  const Header& header_;
  Compiler& compiler_;
  std::map<std::string, std::vector<std::string>> known_;  // by source
};

}  // namespace gpuos::session
