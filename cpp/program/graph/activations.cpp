#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "base/concat.h"
#include "gpuos/error.h"
#include "gpuos/program_functions.h"
#include "program/graph/graph.h"
#include "program/graph/typing.h"

namespace gpuos {

using program::in_single;

namespace {

Value as_bool(const Operand& x, const Value& like) {
  const Value value = literal_of(x, like);
  const bool is_bool = value.dtype() == DType::Bool && !value.is_weak();
  return is_bool ? value : not_equal(value, 0);
}

const Value& any_value(std::string_view name, const Operand& x,
                       const Operand& y) {
  if (!x.is_number()) return x.value();
  if (y.is_number())
    throw InvalidArgument(std::string(name) +
                          ": expected at least one value of a program, got "
                          "numbers only");
  return y.value();
}

Value logical(const char* name, Op op, const Operand& x, const Operand& y) {
  const Value& like = any_value(name, x, y);
  return elementwise(op, {as_bool(x, like), as_bool(y, like)});
}

Value add_scaled(Op op, const Operand& x, const Operand& y,
                 const Operand& alpha) {
  const Value& like = any_value(info_of(op).name, x, y);
  const Value left = literal_of(x, like);
  const Value right = literal_of(y, like);
  const DType result = elementwise(op, {left, right}).dtype();
  if (!is_short_float(result))
    return elementwise(op, {left, multiply(alpha, right)});
  const Value sum = elementwise(
      op, {ProgramBuilder::cast(left, DType::Float32),
           multiply(alpha, ProgramBuilder::cast(right, DType::Float32))});
  return ProgramBuilder::cast(sum, result);
}

// Returns whether a bound holds for every number of an integer dtype.
bool says_nothing(const std::optional<Operand>& bound, const Value& x,
                  bool is_low) {
  if (!bound) return true;
  if (!bound->is_number() || !bound->number().is_integer() || x.is_weak() ||
      !is_integer(x.dtype()))
    return false;
  const bool is_below =
      !bound->number().is_above_int64() && bound->number().integer() < 0;
  try {
    (void)bound->number().bits_as(x.dtype());
    return false;
  } catch (const InvalidArgument&) {
    return is_below == is_low;
  }
}

// NumPy finds one dtype for a value and both bounds.
Value with_type_of_bounds(const Value& x, const Operand& low,
                          const Operand& high) {
  const auto node = [](const Value& v) {
    return program::Node{.dtype = v.dtype(), .is_weak = v.is_weak()};
  };
  std::array nodes{node(x), node(literal_of(low, x)),
                   node(literal_of(high, x))};
  // int8 and uint8 alone give int16. Together with a float16 they give float16.
  std::ranges::stable_partition(
      nodes, [](const program::Node& n) { return is_floating(n.dtype); });
  const program::Typing type = program::type_of(Op::Maximum, nodes);
  return type.is_weak || type.operands == x.dtype()
             ? x
             : ProgramBuilder::cast(x, type.operands);
}

Value softplus_of(const Value& x, const Operand& beta,
                  const Operand& threshold) {
  const Value scaled = multiply(x, beta);
  return where(greater(scaled, threshold), x, divide(log1p(exp(scaled)), beta));
}

Value elu_of(const Value& x, const Operand& alpha) {
  return where(greater(x, 0), x, multiply(alpha, expm1(x)));
}

DType dtype_of(const Operand& x) {
  return x.is_number() ? program::weak_dtype(x.number()) : x.value().dtype();
}

// Computes y < x for x > y. Errors have the name of the called function.
Value turned(const char* name, Op op, const Operand& x, const Operand& y) {
  any_value(name, x, y);
  for (const DType dtype : {dtype_of(x), dtype_of(y)})
    if (is_complex(dtype))
      throw WrongType(
          concat(name, ": expected a real dtype, got ", name_of(dtype)));
  return elementwise(op, {y, x});
}

}  // namespace

Value add(const Operand& x, const Operand& y, const Operand& alpha) {
  return add_scaled(Op::Add, x, y, alpha);
}

Value subtract(const Operand& x, const Operand& y, const Operand& alpha) {
  return add_scaled(Op::Subtract, x, y, alpha);
}

Value greater(const Operand& x, const Operand& y) {
  return turned("greater", Op::Less, x, y);
}

Value greater_equal(const Operand& x, const Operand& y) {
  return turned("greater_equal", Op::LessEqual, x, y);
}

Value logical_and(const Operand& x, const Operand& y) {
  return logical("logical_and", Op::BitwiseAnd, x, y);
}

Value logical_or(const Operand& x, const Operand& y) {
  return logical("logical_or", Op::BitwiseOr, x, y);
}

Value logical_xor(const Operand& x, const Operand& y) {
  return logical("logical_xor", Op::BitwiseXor, x, y);
}

Value logical_not(const Operand& x) {
  return bitwise_xor(as_bool(x, any_value("logical_not", x, x)), true);
}

Value where(const Operand& condition, const Operand& x, const Operand& y) {
  const Value& like =
      condition.is_number() ? any_value("where", x, y) : condition.value();
  const Value made = ProgramBuilder::apply(
      Op::Where,
      {as_bool(condition, like), literal_of(x, like), literal_of(y, like)});
  // From two numbers it makes an array, which is not weak.
  return ProgramBuilder::cast(made, made.dtype());
}

Value astype(const Value& x, DType dtype) {
  return dtype == DType::Bool ? as_bool(x, x) : ProgramBuilder::cast(x, dtype);
}

Value clip(const Value& x, const std::optional<Operand>& low,
           const std::optional<Operand>& high) {
  Value clipped = low && high ? with_type_of_bounds(x, *low, *high) : x;
  if (!says_nothing(low, clipped, true)) clipped = maximum(clipped, *low);
  if (!says_nothing(high, clipped, false)) clipped = minimum(clipped, *high);
  return clipped;
}

Value relu(const Value& x) { return maximum(x, 0); }

Value leaky_relu(const Value& x, const Operand& slope) {
  return in_single(x, [&](const Value& v) {
    return where(greater(v, 0), v, multiply(v, slope));
  });
}

Value elu(const Value& x, const Operand& alpha) {
  return in_single(x, [&](const Value& v) { return elu_of(v, alpha); });
}

Value celu(const Value& x, const Operand& alpha) {
  return in_single(x, [&](const Value& v) {
    return where(greater(v, 0), v, multiply(alpha, expm1(divide(v, alpha))));
  });
}

Value selu(const Value& x) {
  constexpr double kAlpha = 1.6732632423543772848170429916717;
  constexpr double kScale = 1.0507009873554804934193349852946;
  return in_single(
      x, [&](const Value& v) { return multiply(kScale, elu_of(v, kAlpha)); });
}

Value softplus(const Value& x, const Operand& beta, const Operand& threshold) {
  return in_single(
      x, [&](const Value& v) { return softplus_of(v, beta, threshold); });
}

Value logsigmoid(const Value& x) {
  return in_single(x, [](const Value& v) {
    return minimum(v, 0) - log1p(exp(negative(absolute(v))));
  });
}

Value mish(const Value& x) {
  return in_single(
      x, [](const Value& v) { return v * tanh(softplus_of(v, 1.0, 20.0)); });
}

Value softsign(const Value& x) {
  return in_single(x, [](const Value& v) { return v / (absolute(v) + 1); });
}

Value hardsigmoid(const Value& x) {
  return in_single(
      x, [](const Value& v) { return minimum(maximum(v + 3, 0), 6) / 6; });
}

Value hardswish(const Value& x) {
  return in_single(
      x, [](const Value& v) { return v * minimum(maximum(v + 3, 0), 6) / 6; });
}

Value hardtanh(const Value& x, const Operand& low, const Operand& high) {
  return clip(x, low, high);
}

}  // namespace gpuos
