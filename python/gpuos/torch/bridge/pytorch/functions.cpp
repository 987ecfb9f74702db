#include "pytorch/functions.h"

#include <iterator>

#include "gpuos/program_functions.h"
#include "gpuos/program_reductions.h"

namespace gpuos::bridge {
namespace {

using Operands = std::span<const Value>;

// A literal takes the dtype of the other operand.
Value sign_of(const Value& x) {
  if (x.dtype() == DType::Bool) return x;
  return is_floating(x.dtype()) ? where(isnan(x), 0, sign(x)) : sign(x);
}

// The remainder of real numbers takes the divisor's sign by adding the divisor,
// so a remainder of 0 keeps the sign of `x`.
Value remainder_of(const Value& x, const Value& y) {
  if (!is_floating(x.dtype())) return remainder(x, y);
  const Value rest = fmod(x, y);
  const Value differs = not_equal(less(rest, 0), less(y, 0));
  return where(bitwise_and(not_equal(rest, 0), differs), rest + y, rest);
}

// The remainder is subtracted first, so that the division is exact.
Value truncated_quotient(const Value& x, const Value& y) {
  if (is_floating(x.dtype())) return trunc(divide(x, y));
  return floor_divide(x - fmod(x, y), y);
}

// From the nearer end, so that the result reaches both.
Value lerp(const Value& start, const Value& end, const Value& weight) {
  const Value distance = end - start;
  return where(less(absolute(weight), 0.5), start + weight * distance,
               end - distance * (1 - weight));
}

Value silu_backward(const Value& gradient, const Value& x) {
  const Value s = sigmoid(x);
  return gradient * s * (x * (1 - s) + 1);
}

// `correction` is taken off the count, not below 0.
Value variance(const Value& x, const Value& correction, const Axes& axes,
               bool keepdims) {
  const Value count = ProgramBuilder::extent(x, axes) - correction;
  return sum(square(x - mean(x, axes, true)), axes, keepdims) /
         maximum(count, 0);
}

Value layer_norm(const Value& x, const Value& eps, const Axes& axes) {
  const Value centered = x - mean(x, axes, true);
  return centered * rsqrt(mean(square(centered), axes, true) + eps);
}

Value rms_norm(const Value& x, const Value& eps, const Axes& axes) {
  return x * rsqrt(mean(square(x), axes, true) + eps);
}

template <Op kOp>
constexpr RequestFunction vocabulary() {
  // The second of two zeros counts, as in PyTorch's vector code.
  if constexpr (kOp == Op::Maximum || kOp == Op::Minimum)
    return {.of_elements = [](Operands x) {
      return elementwise(kOp, {x[1], x[0]});
    }};
  else
    return kRequestFunction<kOp>;
}

}  // namespace

const RequestFunction kFunctions[] = {
#define GPUOS_ROW(name, ...) vocabulary<Op::name>(),
    GPUOS_UNARY_FUNCTIONS(GPUOS_ROW) GPUOS_BINARY_FUNCTIONS(GPUOS_ROW)
        GPUOS_COMPARISONS(GPUOS_ROW) GPUOS_TESTS(GPUOS_ROW) kCopyFunction,
#undef GPUOS_ROW
    {.conditions = 1,
     .of_elements = [](Operands x) { return where(x[0], x[1], x[2]); }},
    {.conditions = 2,
     .of_elements = [](Operands x) { return where(x[1], x[2], x[0]); }},
#define GPUOS_ROW(name, operands, result) \
  {.of_elements = [](Operands x) -> Value { return result; }},
    GPUOS_TORCH_FUNCTIONS(GPUOS_ROW)
#undef GPUOS_ROW
#define GPUOS_ROW(name, operands, result)                                \
  {.kind = RequestFunction::Kind::Reduction,                             \
   .of_rows = [](Operands x, const Axes& axes, bool keepdims) -> Value { \
     return result;                                                      \
   }},
        GPUOS_TORCH_REDUCTIONS(GPUOS_ROW)
#undef GPUOS_ROW
#define GPUOS_ROW(name, operands, result)                       \
  {.kind = RequestFunction::Kind::Rows,                         \
   .of_rows = [](Operands x, const Axes& axes, bool) -> Value { \
     return result;                                             \
   }},
            GPUOS_TORCH_ROWS(GPUOS_ROW)
#undef GPUOS_ROW
};

static_assert(std::size(kFunctions) ==
              static_cast<std::size_t>(Function::RmsNormPlain) + 1);

}  // namespace gpuos::bridge
