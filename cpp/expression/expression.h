#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpuos/operator.h"
#include "gpuos/program.h"

namespace gpuos {

namespace expression {
struct Tree;  // private to cpp/expression
}

/// Holds a parsed "o = alpha * x + y".
struct Expression {
  std::string output;
  std::vector<std::string> inputs;  // in order of first use
  std::vector<Parameter> params;    // as declared
  std::shared_ptr<const expression::Tree> tree;
};

/// Parses an expression. `known_inputs` come first in their order, even if they
/// are not used.
/// Throws: InvalidArgument with the column and the expected text.
Expression parse_expression(std::string_view text,
                            std::span<const Parameter> params,
                            std::span<const std::string> known_inputs = {});

/// Returns the program of an expression for arrays of these dtypes and ranks.
/// It is one pass, unless it reduces. Its result is cast to the dtype of `out`
/// if NumPy's casting rule "same_kind" allows that. An expression without
/// inputs has the output as its input, which gives the shape.
/// Throws: InvalidArgument, which shows the place in the text, if an operation
/// does not accept an operand.
Program program_of(const Expression& expression,
                   std::span<const ProgramArgument> inputs,
                   const ProgramArgument& out);

}  // namespace gpuos
