#include <algorithm>

#include "base/concat.h"
#include "expression/expression.h"
#include "expression/tree.h"
#include "gpuos/error.h"

namespace gpuos {
namespace expression {
namespace {

Scalar number_of(const Literal& literal) {
  if (!literal.is_whole)
    return literal.is_negative ? -literal.real : literal.real;
  if (!literal.is_negative) return literal.magnitude;
  constexpr std::uint64_t kLowest = std::uint64_t{1} << 63;
  if (literal.magnitude > kLowest) return -literal.real;
  return static_cast<std::int64_t>(0 - literal.magnitude);
}

/// Returns a number of the kind of a parameter of `dtype`.
Scalar like_of(DType dtype) {
  if (is_complex(dtype)) return std::complex<double>{};
  return is_floating(dtype) ? Scalar(0.0) : Scalar(0);
}

/// Evaluates a tree with the values of a program.
class Evaluation {
 public:
  Evaluation(const Tree& tree, ProgramBuilder& builder,
             std::span<const Value> inputs, std::span<const Value> params)
      : tree_(tree), builder_(builder), inputs_(inputs), params_(params) {}

  Value run() {
    operands_.reserve(tree_.nodes.size());
    for (const TreeNode& node : tree_.nodes)
      operands_.push_back(operand_of(node));
    return value_of(operands_.back());
  }

 private:
  Operand operand_of(const TreeNode& node) {
    switch (node.kind) {
      case TreeNode::Kind::Input:
        return inputs_[node.index];
      case TreeNode::Kind::Param:
        return params_[node.index];
      case TreeNode::Kind::Literal:
        return number_of(node.literal);
      case TreeNode::Kind::Call:
        break;
    }
    try {
      return call(node);
    } catch (const InvalidArgument& error) {
      fail_at(tree_.text, node.column, error.what());
    }
  }

  Value call(const TreeNode& node) {
    const NamedFunction& function = *node.function;
    if (function.over != nullptr && node.count == 1) {
      const auto& [axes, keepdims] = tree_.reduced[node.index];
      return function.over(value_of(operands_[node.operands[0]]), axes,
                           keepdims);
    }
    std::vector<Operand> operands;
    for (std::size_t k = 0; k < node.count; ++k)
      operands.push_back(operands_[node.operands[k]]);
    // Numbers alone belong to no program, so the first becomes a value.
    if (std::ranges::all_of(operands, &Operand::is_number))
      operands[0] = value_of(operands[0]);
    return function.of(operands);
  }

  Value value_of(const Operand& operand) {
    return operand.is_number() ? builder_.literal(operand.number())
                               : operand.value();
  }

  const Tree& tree_;
  ProgramBuilder& builder_;
  std::span<const Value> inputs_;
  std::span<const Value> params_;
  std::vector<Operand> operands_;
};

Value as_output(const Value& result, const Expression& expression,
                DType dtype) {
  // A number has a kind, but no dtype.
  const DTypeKind kind = kind_of(result.dtype());
  const bool is_number = result.is_weak() && kind == DTypeKind::Signed;
  if (kind_of(dtype) < (is_number ? DTypeKind::Unsigned : kind))
    throw InvalidArgument(
        concat(expression.output, ": expected an output that holds ",
               name_of(result.dtype()), ", which the result is, got ",
               name_of(dtype)));
  return ProgramBuilder::cast(result, dtype);
}

}  // namespace
}  // namespace expression

Program program_of(const Expression& expression,
                   std::span<const ProgramArgument> inputs,
                   const ProgramArgument& out) {
  ProgramBuilder builder;
  std::vector<Value> arrays;
  for (const ProgramArgument& input : inputs)
    arrays.push_back(builder.input(input.dtype, input.rank));
  std::vector<Value> params;
  for (const Parameter& param : expression.params)
    params.push_back(param.dtype == DType::Bool
                         ? builder.scalar(DType::Bool)
                         : builder.number(expression::like_of(param.dtype)));
  Value result =
      expression::Evaluation(*expression.tree, builder, arrays, params).run();
  result = expression::as_output(result, expression, out.dtype);
  if (inputs.empty())
    result = ProgramBuilder::broadcast_to(result,
                                          builder.input(out.dtype, out.rank));
  builder.output(result);
  return builder.build();
}

}  // namespace gpuos
