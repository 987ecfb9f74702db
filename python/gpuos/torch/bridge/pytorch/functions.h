// PyTorch's functions, as subgraphs of programs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

#include "gpuos/requests.h"
#include "gpuos/vocabulary.h"

namespace gpuos::bridge {

// X(function, operands, result): functions of PyTorch (ATen) that differ from
// the vocabulary's or are missing there. `x` has the operands.
#define GPUOS_TORCH_FUNCTIONS(X)                                              \
  X(AddScaled, 3, x[0] + x[2] * x[1])                                         \
  X(SubScaled, 3, x[0] - x[2] * x[1])                                         \
  X(DivTrunc, 2, truncated_quotient(x[0], x[1]))                              \
  X(TorchRemainder, 2, remainder_of(x[0], x[1]))                              \
  X(Greater, 2, greater(x[0], x[1]))                                          \
  X(GreaterEqual, 2, greater_equal(x[0], x[1]))                               \
  X(LogicalAnd, 2, logical_and(x[0], x[1]))                                   \
  X(LogicalOr, 2, logical_or(x[0], x[1]))                                     \
  X(LogicalXor, 2, logical_xor(x[0], x[1]))                                   \
  X(LogicalNot, 1, logical_not(x[0]))                                         \
  X(Lerp, 3, lerp(x[0], x[1], x[2]))                                          \
  X(Addcmul, 4, x[0] + x[3] * x[1] * x[2])                                    \
  X(Addcdiv, 4, x[0] + x[3] * x[1] / x[2])                                    \
  X(Clamp, 3, minimum(maximum(x[0], x[1]), x[2]))                             \
  X(ClampMin, 2, maximum(x[0], x[1]))                                         \
  X(ClampMax, 2, minimum(x[0], x[1]))                                         \
  X(TorchSign, 1, sign_of(x[0]))                                              \
  X(TorchRound, 1, is_floating(x[0].dtype()) ? rint(x[0]) : x[0])             \
  X(Frac, 1, x[0] - trunc(x[0]))                                              \
  X(Cube, 1, x[0] * x[0] * x[0])                                              \
  X(InverseSquare, 1, 1 / (x[0] * x[0]))                                      \
  X(LogSigmoid, 1, logsigmoid(x[0]))                                          \
  X(Relu, 1, relu(x[0]))                                                      \
  X(LeakyRelu, 2, leaky_relu(x[0], x[1]))                                     \
  /* alpha, scale, input_scale; not the library's: which side 0 is on */      \
  X(Elu, 4,                                                                   \
    where(greater(x[0], 0), x[0] * x[2], expm1(x[0] * x[3]) * (x[1] * x[2]))) \
  X(Softplus, 3, softplus(x[0], x[1], x[2]))                                  \
  X(Mish, 1, mish(x[0]))                                                      \
  X(Hardsigmoid, 1, hardsigmoid(x[0]))                                        \
  X(Hardswish, 1, hardswish(x[0]))                                            \
  X(Hardtanh, 3, minimum(maximum(x[0], x[1]), x[2]))                          \
  X(Threshold, 3, where(less_equal(x[0], x[1]), x[2], x[0]))                  \
  X(SigmoidBackward, 2, x[0] * (1 - x[1]) * x[1])                             \
  X(TanhBackward, 2, x[0] * (1 - x[1] * x[1]))                                \
  X(ThresholdBackward, 3, where(less_equal(x[1], x[2]), 0, x[0]))             \
  X(SiluBackward, 2, silu_backward(x[0], x[1]))

// Reductions over `axes`. An argmax has one axis, or all: then it is one of the
// flattened array. docs/programs.md describes the results.
#define GPUOS_TORCH_REDUCTIONS(X)                       \
  X(Sum, 1, sum(x[0], axes, keepdims))                  \
  X(Mean, 1, mean(x[0], axes, keepdims))                \
  X(Prod, 1, prod(x[0], axes, keepdims))                \
  X(Amax, 1, max(x[0], axes, keepdims))                 \
  X(Amin, 1, min(x[0], axes, keepdims))                 \
  X(Argmax, 1, argmax(x[0], axes, keepdims))            \
  X(Argmin, 1, argmin(x[0], axes, keepdims))            \
  X(Any, 1, any(x[0], axes, keepdims))                  \
  X(All, 1, all(x[0], axes, keepdims))                  \
  X(Var, 2, variance(x[0], x[1], axes, keepdims))       \
  X(Std, 2, sqrt(variance(x[0], x[1], axes, keepdims))) \
  X(Logsumexp, 1, logsumexp(x[0], axes, keepdims))      \
  X(Norm, 1, norm(x[0], 2, axes, keepdims))             \
  X(Product, 2, sum(x[0] * x[1], axes, keepdims))       \
  X(ProductPlus, 3, sum(x[0] * x[1], axes, keepdims) + x[2])

// Functions of rows whose result has the operand's shape.
#define GPUOS_TORCH_ROWS(X)                                   \
  X(Softmax, 1, softmax(x[0], axes))                          \
  X(LogSoftmax, 1, log_softmax(x[0], axes))                   \
  X(LayerNorm, 4, layer_norm(x[0], x[3], axes) * x[1] + x[2]) \
  X(LayerNormPlain, 2, layer_norm(x[0], x[1], axes))          \
  X(RmsNorm, 3, rms_norm(x[0], x[2], axes) * x[1])            \
  X(RmsNormPlain, 2, rms_norm(x[0], x[1], axes))

/// Names the function that a request computes, from the vocabulary or from one
/// of the lists above. For comparisons `compute` is the operands' dtype.
enum class Function : std::uint16_t {
#define GPUOS_NAME(name, ...) name,
  GPUOS_UNARY_FUNCTIONS(GPUOS_NAME) GPUOS_BINARY_FUNCTIONS(GPUOS_NAME)
      GPUOS_COMPARISONS(GPUOS_NAME) GPUOS_TESTS(GPUOS_NAME) Copy,
  Where,       // condition (bool), a, b
  MaskedFill,  // x, mask (bool), value
  GPUOS_TORCH_FUNCTIONS(GPUOS_NAME) GPUOS_TORCH_REDUCTIONS(GPUOS_NAME)
      GPUOS_TORCH_ROWS(GPUOS_NAME)
#undef GPUOS_NAME
};

/// The numbers of operands of elementwise functions.
inline constexpr std::uint8_t kOperands[] = {
#define GPUOS_COUNT(name, ...) info_of(Op::name).operands,
    GPUOS_UNARY_FUNCTIONS(GPUOS_COUNT) GPUOS_BINARY_FUNCTIONS(GPUOS_COUNT)
        GPUOS_COMPARISONS(GPUOS_COUNT) GPUOS_TESTS(GPUOS_COUNT) 1,
    3, 3,
#undef GPUOS_COUNT
#define GPUOS_COUNT(name, operands, ...) operands,
    GPUOS_TORCH_FUNCTIONS(GPUOS_COUNT)
#undef GPUOS_COUNT
};

/// Returns the number of operands of an elementwise function, and 0 for the
/// others.
constexpr std::size_t operands_of(Function function) noexcept {
  const auto place = static_cast<std::size_t>(function);
  return place < std::size(kOperands) ? kOperands[place] : 0;
}

/// The functions in the order of Function.
extern const RequestFunction kFunctions[];

inline const RequestFunction* function_of(Function function) noexcept {
  return &kFunctions[static_cast<std::size_t>(function)];
}

constexpr bool is_reducing(Function function) noexcept {
  return function >= Function::Sum && function < Function::Softmax;
}
/// Returns whether the result of a function of rows has the operand's shape.
constexpr bool keeps_rows(Function function) noexcept {
  return function >= Function::Softmax;
}
constexpr bool is_row_function(Function function) noexcept {
  return function >= Function::Sum;
}

}  // namespace gpuos::bridge
