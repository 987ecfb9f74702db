#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpuos/dtype.h"
#include "gpuos/operator.h"

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

/// Device and host source: one GPUOS_OPERATOR(`entry`) for `dtype` buffers.
/// Names of the expression do not appear in it: expressions that differ only
/// in names have the same source.
/// Throws: InvalidArgument if `dtype` has no such function or literal.
std::string expression_source(const Expression& expression, DType dtype,
                              std::string_view entry);

/// The same operator as relocatable PTX without the module's header, which is
/// ready several times sooner. Empty if the expression needs a function that
/// is no few instructions.
/// Throws: like expression_source().
std::string expression_ptx(const Expression& expression, DType dtype,
                           std::string_view entry);

}  // namespace gpuos
