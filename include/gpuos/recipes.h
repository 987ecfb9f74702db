#pragma once

#include <cstddef>
#include <cstdint>

#include "gpuos/vocabulary.h"

namespace gpuos {

// X(recipe, operands): functions of PyTorch (ATen) that differ from the
// vocabulary's or are missing there. Operands are in this order. Operands that
// a comment calls numbers are always numbers.
#define GPUOS_TORCH_RECIPES(X)                                              \
  X(Copy, 1)      /* a cast, a copy */                                      \
  X(AddScaled, 3) /* a + alpha * b; number alpha */                         \
  X(SubScaled, 3) /* a - alpha * b; number alpha */                         \
  X(DivTrunc, 2)                                                            \
  X(TorchRemainder, 2) /* of the divisor's sign; 0 of the dividend's */     \
  X(Greater, 2)                                                             \
  X(GreaterEqual, 2)                                                        \
  X(LogicalAnd, 2) /* operands are compared with 0 in `compute` */          \
  X(LogicalOr, 2)                                                           \
  X(LogicalXor, 2)                                                          \
  X(LogicalNot, 1)                                                          \
  X(Where, 3)      /* condition (bool), a, b */                             \
  X(MaskedFill, 3) /* x, mask (bool), value */                              \
  X(Lerp, 3)       /* start, end, weight; ATen's two branches at 0.5 */     \
  X(Addcmul, 4)    /* x, a, b, number value: x + value * a * b */           \
  X(Addcdiv, 4)    /* x, a, b, number value: x + value * a / b */           \
  X(Clamp, 3)      /* x, low, high: min(max(x, low), high); NaN stays */    \
  X(ClampMin, 2)                                                            \
  X(ClampMax, 2)                                                            \
  X(TorchSign, 1)  /* of NaN: 0 */                                          \
  X(TorchRound, 1) /* half to even; integers stay */                        \
  X(Frac, 1)       /* x - trunc(x) */                                       \
  X(LogSigmoid, 1)                                                          \
  X(Relu, 1)      /* NaN stays */                                           \
  X(LeakyRelu, 2) /* x, number slope */                                     \
  X(Elu, 4)       /* x, numbers alpha, scale, input_scale */                \
  X(Softplus, 3)  /* x, numbers beta, threshold */                          \
  X(Mish, 1)                                                                \
  X(Hardsigmoid, 1)                                                         \
  X(Hardswish, 1)                                                           \
  X(Hardtanh, 3) /* x, numbers low, high */                                 \
  X(Threshold,                                                              \
    3) /* x, numbers threshold, value: x <= threshold ? value : x */        \
  X(SigmoidBackward, 2)   /* gradient, result: g * (1 - y) * y */           \
  X(TanhBackward, 2)      /* gradient, result: g * (1 - y * y) */           \
  X(ThresholdBackward, 3) /* gradient, x, number: x <= threshold ? 0 : g */ \
  X(SiluBackward, 2)      /* gradient, x */

// Reductions over the axes of Request::axes of the first operand, with a result
// for each row. The results of a program's reductions: docs/programs.md.
#define GPUOS_REDUCING_RECIPES(X)                                  \
  X(Sum, 1)                                                        \
  X(Mean, 1)                                                       \
  X(Prod, 1)                                                       \
  X(Amax, 1)                                                       \
  X(Amin, 1)                                                       \
  X(Argmax, 1) /* one axis, or all: then of the flattened array */ \
  X(Argmin, 1)                                                     \
  X(Any, 1)                                                        \
  X(All, 1)                                                        \
  X(Var, 2) /* x, number correction */                             \
  X(Std, 2)                                                        \
  X(Logsumexp, 1)                                                  \
  X(Norm, 1) /* the 2-norm */

// The functions that use them and have the operand's shape.
#define GPUOS_SHAPED_ROW_RECIPES(X)                                          \
  X(Softmax, 1)                                                              \
  X(LogSoftmax, 1)                                                           \
  X(LayerNorm, 4)      /* x, weight, bias, number eps; over trailing axes */ \
  X(LayerNormPlain, 2) /* x, number eps */                                   \
  X(RmsNorm, 3)        /* x, weight, number eps */                           \
  X(RmsNormPlain, 2)

/// Names the function that a request computes, from the vocabulary or from one
/// of the lists above. For comparisons `compute` is the operands' dtype.
enum class Recipe : std::uint16_t {
#define GPUOS_NAME(name, ...) name,
  GPUOS_UNARY_FUNCTIONS(GPUOS_NAME) GPUOS_BINARY_FUNCTIONS(GPUOS_NAME)
      GPUOS_COMPARISONS(GPUOS_NAME) GPUOS_TESTS(GPUOS_NAME)
          GPUOS_TORCH_RECIPES(GPUOS_NAME) GPUOS_REDUCING_RECIPES(GPUOS_NAME)
              GPUOS_SHAPED_ROW_RECIPES(GPUOS_NAME)
#undef GPUOS_NAME
};

/// Returns the number of operands of an elementwise recipe, and 0 for the
/// others.
constexpr std::size_t operands_of(Recipe recipe) noexcept {
  switch (recipe) {
#define GPUOS_CASE(name, ...) case Recipe::name:
    GPUOS_UNARY_FUNCTIONS(GPUOS_CASE)
    GPUOS_TESTS(GPUOS_CASE)
    return 1;
    GPUOS_BINARY_FUNCTIONS(GPUOS_CASE)
    GPUOS_COMPARISONS(GPUOS_CASE)
    return 2;
#undef GPUOS_CASE
#define GPUOS_CASE(name, operands) \
  case Recipe::name:               \
    return operands;
    GPUOS_TORCH_RECIPES(GPUOS_CASE)  // NOLINT(bugprone-branch-clone)
#undef GPUOS_CASE
    default:
      return 0;
  }
}

/// Returns whether a row recipe's result has the operand's shape.
constexpr bool keeps_rows(Recipe recipe) noexcept {
  switch (recipe) {
#define GPUOS_CASE(name, ...) case Recipe::name:
    GPUOS_SHAPED_ROW_RECIPES(GPUOS_CASE)
#undef GPUOS_CASE
    return true;
    default:
      return false;
  }
}

/// Returns whether the result of a row recipe has one element for each row.
constexpr bool is_reducing(Recipe recipe) noexcept {
  switch (recipe) {
#define GPUOS_CASE(name, ...) case Recipe::name:
    GPUOS_REDUCING_RECIPES(GPUOS_CASE)
#undef GPUOS_CASE
    return true;
    default:
      return false;
  }
}

constexpr bool is_row_recipe(Recipe recipe) noexcept {
  return is_reducing(recipe) || keeps_rows(recipe);
}

}  // namespace gpuos
