#include "gpuos/program_functions.h"

#include <array>
#include <vector>

#include "base/concat.h"
#include "device/short_floats.h"
#include "gpuos/error.h"
#include "program/graph/graph.h"
#include "program/graph/typing.h"

namespace gpuos {
namespace {

// Returns whether an integer dtype can represent this integer.
bool fits(const Scalar& number, DType dtype) {
  try {
    (void)number.bits_as(dtype);
    return true;
  } catch (const InvalidArgument&) {
    return false;
  }
}

bool is_large_unsigned(const Value& x) { return x.dtype() == DType::UInt64; }

bool is_signed_integer(const Value& x) {
  return is_integer(x.dtype()) && is_signed(x.dtype());
}

// Compares a signed integer with a uint64, whose promoted dtype would be
// float64. Values below 0 are decided first.
Value compare_signs(Op op, const Value& x, const Value& y) {
  const bool swapped = is_large_unsigned(x);
  const Value& integer = swapped ? y : x;
  const Value large = ProgramBuilder::cast(integer, DType::UInt64);
  const Value exact = swapped ? ProgramBuilder::apply(op, {x, large})
                              : ProgramBuilder::apply(op, {large, y});
  const bool below_holds = op == Op::NotEqual || (op != Op::Equal && !swapped);
  if (below_holds) return bitwise_or(less(integer, 0), exact);
  return bitwise_and(less_equal(0, integer), exact);
}

// A number that does not fit the other's dtype is compared as it is.
Value widen(const Operand& number, const Value& as_value, const Value& other) {
  if (!number.is_number() || !number.number().is_integer() || other.is_weak() ||
      !is_integer(other.dtype()) || fits(number.number(), other.dtype()))
    return as_value;
  return ProgramBuilder::cast(as_value, number.number().is_above_int64()
                                            ? DType::UInt64
                                            : DType::Int64);
}

Value compare(Op op, const Operand& a, const Operand& b, const Value& as_x,
              const Value& as_y) {
  const Value x = widen(a, as_x, as_y);
  const Value y = widen(b, as_y, as_x);
  const bool is_mixed = (is_signed_integer(x) && is_large_unsigned(y)) ||
                        (is_large_unsigned(x) && is_signed_integer(y));
  if (is_mixed && !x.is_weak() && !y.is_weak()) return compare_signs(op, x, y);
  return ProgramBuilder::apply(op, {x, y});
}

// Returns `x` cast to the dtype of x ** exponent.
Value promoted(const Value& x, const Value& exponent) {
  const std::array nodes = {x.graph()->nodes[x.id()],
                            x.graph()->nodes[exponent.id()]};
  const program::Typing type = program::type_of(Op::Power, nodes);
  return type.is_weak ? x : ProgramBuilder::cast(x, type.result);
}

Value power_of(const Value& x, const Operand& exponent, const Value& y) {
  if (!exponent.is_number() || exponent.number().is_complex() || x.is_weak())
    return ProgramBuilder::apply(Op::Power, {x, y});
  const double number = exponent.number().real();
  // Complex values have only the powers below.
  Value base = is_complex(x.dtype()) ? x : promoted(x, y);
  const bool is_exact = !is_floating(base.dtype()) && !is_complex(base.dtype());
  if (is_exact && number < 0)
    throw InvalidArgument(
        concat("power: expected an exponent of 0 or more for ",
               name_of(base.dtype()), ", got ", number));
  if (number == 2) return ProgramBuilder::apply(Op::Square, {base});
  if (number == 1) return base;
  if (number == 0.5 && !is_exact)
    return ProgramBuilder::apply(Op::Sqrt, {base});
  if (number == -1) return ProgramBuilder::apply(Op::Reciprocal, {base});
  return ProgramBuilder::apply(Op::Power, {x, y});
}

// Short floats are computed wide. Their steps and scales differ from those of
// float32.

// `exponent` is a whole number.
Value ldexp_of(const Value& x, const Value& exponent) {
  const DType given = exponent.dtype();
  if (is_floating(given) || is_complex(given) || given == DType::UInt64)
    throw WrongType(concat("ldexp: expected integers as exponents, ",
                           "no uint64, got ", name_of(given)));
  const DType dtype = rint(x).dtype();
  const DType wide = is_short_float(dtype) ? DType::Float32 : dtype;
  return ProgramBuilder::cast(
      ProgramBuilder::apply(Op::Ldexp, {ProgramBuilder::cast(x, wide),
                                        ProgramBuilder::cast(exponent, wide)}),
      dtype);
}

struct ShortLimits {
  double epsilon;
  double smallest;
  double highest;
};

ShortLimits limits_of(DType short_float) {
  switch (short_float) {
#define GPUOS_CASE(with, name, text, bytes, Stored, ...)                     \
  case DType::name:                                                          \
    return {Limits<Stored>::epsilon(), Limits<Stored>::smallest_subnormal(), \
            Limits<Stored>::highest()};
    GPUOS_SHORT_FLOATS(GPUOS_CASE, )
#undef GPUOS_CASE
    default:
      return {};
  }
}

// The sum is rounded to the next number. For that it adds more than half a step
// of the short float, and less than one and a half.
Value next_of_short(const Value& a, const Value& b, DType dtype) {
  const ShortLimits limits = limits_of(dtype);
  const auto widened = [&](const Value& value) {
    // A number of Python is rounded to the short float first.
    return ProgramBuilder::cast(ProgramBuilder::cast(value, dtype),
                                DType::Float32);
  };
  const Value x = widened(a);
  const Value y = widened(b);
  const Value size = absolute(x);
  const Value step = maximum(size * (0.5 * limits.epsilon * (1 + 0x1p-6)),
                             0.75 * limits.smallest);
  const Value moved = where(isinf(x), copysign(limits.highest, x),
                            where(less(x, y), x + step, x - step));
  const Value next = where(isnan(x) | isnan(y), x + y, where(x == y, y, moved));
  return ProgramBuilder::cast(next, dtype);
}

const Value& first_value(Op op, std::span<const Operand> operands) {
  for (const Operand& operand : operands)
    if (!operand.is_number()) return operand.value();
  throw InvalidArgument(concat(info_of(op).name,
                               ": expected at least one value of a program, "
                               "got numbers only"));
}

}  // namespace

Value literal_of(const Operand& number, const Value& like) {
  if (!number.is_number()) return number.value();
  if (like.graph() == nullptr)
    throw InvalidArgument("literal: expected a value of a program, got none");
  program::Graph& graph = *like.graph();
  const Value made = graph.value(program::add_literal(graph, number.number()));
  // A bool of Python gives way to every dtype, as an array of bools does.
  return number.is_bool() ? ProgramBuilder::cast(made, DType::Bool) : made;
}

Value elementwise(Op op, std::span<const Operand> operands) {
  const Value& like = first_value(op, operands);
  std::vector<Value> values;
  for (const Operand& operand : operands)
    values.push_back(literal_of(operand, like));
  const bool is_pair = values.size() == 2;
  if (is_pair && info_of(op).rule == OpRule::Comparison)
    return compare(op, operands[0], operands[1], values[0], values[1]);
  if (is_pair && op == Op::Power)
    return power_of(values[0], operands[1], values[1]);
  if (op == Op::Ldexp) return ldexp_of(values[0], values[1]);
  if (op == Op::Nextafter) {
    Value next = ProgramBuilder::apply(op, values);
    if (!is_short_float(next.dtype())) return next;
    return next_of_short(values[0], values[1], next.dtype());
  }
  if (op == Op::ImaginaryPart && !is_complex(values[0].dtype()))
    return ProgramBuilder::cast(where(isnan(values[0]), 0, 0),
                                values[0].dtype());
  // Bits beyond the lowest say nothing in a bool.
  if (op == Op::Invert && values[0].dtype() == DType::Bool)
    return bitwise_xor(values[0], true);
  return ProgramBuilder::apply(op, values);
}

}  // namespace gpuos
