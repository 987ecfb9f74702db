#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gpuos/kernel_args.h"
#include "session/cells/launch_syntax.h"
#include "session/device/compiling.h"
#include "session/device/definitions.h"
#include "session/device/header.h"

namespace gpuos::session {

/// Holds a constant expression and the wanted type of its value.
struct Question {
  LaunchExpression expression;
  std::string type;  // "dim3", "float"; empty: the expression's own
};

/// Returns the value of a literal as a number. Returns nothing if the text is
/// no literal.
std::optional<Scalar> literal(const std::string& text);

/// Finds the values of constant expressions with the compiler. They may use the
/// session's header and bound numbers.
class Evaluator {
 public:
  Evaluator(const Header& header, Compiler& compiler)
      : header_(header), compiler_(compiler) {}

  /// Returns the bytes of each value.
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

/// Finds the C++ spelling of the types of the device's variables. The compiler
/// finds them, because a definition is text.
class VariableTypes {
 public:
  VariableTypes(const Header& header, Compiler& compiler)
      : header_(header), compiler_(compiler) {}

  /// Returns "int [3]". Compiles a small source once for each type.
  /// Throws: CompileError.
  std::string find(const Definition& variable);

 private:
  static constexpr std::size_t kMost = 1024;

  const Header& header_;
  Compiler& compiler_;
  std::map<std::string, std::string> known_;  // by source
};

}  // namespace gpuos::session
