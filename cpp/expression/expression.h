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

/// A parsed "o = alpha * x + y".
struct Expression {
  std::string output;
  std::vector<std::string> inputs;  // in order of first use
  std::vector<Parameter> params;    // as declared
  std::shared_ptr<const expression::Tree> tree;
};

/// `known_inputs` come first, in their order, also those that are not used.
/// Throws: InvalidArgument with the column and what was expected.
Expression parse_expression(std::string_view text,
                            std::span<const Parameter> params,
                            std::span<const std::string> known_inputs = {});

/// The expression for arrays of these dtypes and ranks: one pass, unless it
/// reduces. Its result is cast to that of `out` if that loses no kind of
/// number, as an output of NumPy's is. Without inputs the program has one, the
/// output itself, which tells it the shape.
/// Throws: InvalidArgument, shown in the text, for what an operation does not
/// take.
Program program_of(const Expression& expression,
                   std::span<const ProgramArgument> inputs,
                   const ProgramArgument& out);

}  // namespace gpuos
