#pragma once

#include <cstdint>
#include <string_view>

namespace gpuos {

// X(recipe, operands): what a request computes, named and meant as in PyTorch
// (ATen). Operands in this order; those called numbers in the comment always
// are numbers.
#define GPUOS_ELEMENTWISE_RECIPES(X)                                        \
  X(Copy, 1) /* a cast, a copy */                                           \
  X(Add, 2)                                                                 \
  X(AddScaled, 3) /* a + alpha * b; number alpha */                         \
  X(Sub, 2)                                                                 \
  X(SubScaled, 3) /* a - alpha * b; number alpha */                         \
  X(Mul, 2)                                                                 \
  X(Div, 2) /* true division */                                             \
  X(DivFloor, 2)                                                            \
  X(DivTrunc, 2)                                                            \
  X(Remainder, 2) /* of the divisor's sign */                               \
  X(Fmod, 2)                                                                \
  X(Pow, 2)                                                                 \
  X(Atan2, 2)                                                               \
  X(Hypot, 2)                                                               \
  X(Copysign, 2)                                                            \
  X(Logaddexp, 2)                                                           \
  X(Maximum, 2) /* NaN wins */                                              \
  X(Minimum, 2)                                                             \
  X(Fmax, 2) /* NaN loses */                                                \
  X(Fmin, 2)                                                                \
  X(Lt, 2) /* comparisons: `compute` is the operands' dtype */              \
  X(Le, 2)                                                                  \
  X(Gt, 2)                                                                  \
  X(Ge, 2)                                                                  \
  X(Eq, 2)                                                                  \
  X(Ne, 2)                                                                  \
  X(BitwiseAnd, 2)                                                          \
  X(BitwiseOr, 2)                                                           \
  X(BitwiseXor, 2)                                                          \
  X(LogicalAnd, 2) /* operands are compared with 0 in `compute` */          \
  X(LogicalOr, 2)                                                           \
  X(LogicalXor, 2)                                                          \
  X(Where, 3)      /* condition (bool), a, b */                             \
  X(MaskedFill, 3) /* x, mask (bool), value */                              \
  X(Lerp, 3)       /* start, end, weight; ATen's two branches at 0.5 */     \
  X(Addcmul, 4)    /* x, a, b, number value: x + value * a * b */           \
  X(Addcdiv, 4)    /* x, a, b, number value: x + value * a / b */           \
  X(Clamp, 3)      /* x, low, high: min(max(x, low), high); NaN stays */    \
  X(ClampMin, 2)                                                            \
  X(ClampMax, 2)                                                            \
  X(Neg, 1)                                                                 \
  X(Abs, 1)                                                                 \
  X(Sign, 1) /* NaN gives 0, as in PyTorch */                               \
  X(Square, 1)                                                              \
  X(Reciprocal, 1)                                                          \
  X(Sqrt, 1)                                                                \
  X(Rsqrt, 1)                                                               \
  X(Exp, 1)                                                                 \
  X(Exp2, 1)                                                                \
  X(Expm1, 1)                                                               \
  X(Log, 1)                                                                 \
  X(Log2, 1)                                                                \
  X(Log10, 1)                                                               \
  X(Log1p, 1)                                                               \
  X(Sin, 1)                                                                 \
  X(Cos, 1)                                                                 \
  X(Tan, 1)                                                                 \
  X(Asin, 1)                                                                \
  X(Acos, 1)                                                                \
  X(Atan, 1)                                                                \
  X(Sinh, 1)                                                                \
  X(Cosh, 1)                                                                \
  X(Tanh, 1)                                                                \
  X(Asinh, 1)                                                               \
  X(Acosh, 1)                                                               \
  X(Atanh, 1)                                                               \
  X(Erf, 1)                                                                 \
  X(Erfc, 1)                                                                \
  X(Lgamma, 1)                                                              \
  X(Floor, 1)                                                               \
  X(Ceil, 1)                                                                \
  X(Trunc, 1)                                                               \
  X(Round, 1) /* half to even */                                            \
  X(Frac, 1)  /* x - trunc(x) */                                            \
  X(Sigmoid, 1)                                                             \
  X(LogSigmoid, 1)                                                          \
  X(Relu, 1)      /* NaN stays */                                           \
  X(LeakyRelu, 2) /* x, number slope */                                     \
  X(Elu, 4)       /* x, numbers alpha, scale, input_scale */                \
  X(Softplus, 3)  /* x, numbers beta, threshold */                          \
  X(Silu, 1)                                                                \
  X(Mish, 1)                                                                \
  X(Gelu, 1)                                                                \
  X(GeluTanh, 1)                                                            \
  X(Hardsigmoid, 1)                                                         \
  X(Hardswish, 1)                                                           \
  X(Hardtanh, 3) /* x, numbers low, high */                                 \
  X(Threshold,                                                              \
    3) /* x, numbers threshold, value: x <= threshold ? value : x */        \
  X(Isnan, 1)                                                               \
  X(Isinf, 1)                                                               \
  X(Isfinite, 1)                                                            \
  X(Signbit, 1)                                                             \
  X(LogicalNot, 1)                                                          \
  X(BitwiseNot, 1)                                                          \
  X(SigmoidBackward, 2)   /* gradient, result: g * (1 - y) * y */           \
  X(TanhBackward, 2)      /* gradient, result: g * (1 - y * y) */           \
  X(ThresholdBackward, 3) /* gradient, x, number: x <= threshold ? 0 : g */ \
  X(SiluBackward, 2)      /* gradient, x */

// Reductions and what is made of them, over the axes of Request::axes of the
// first operand. The results of a program's reductions: docs/programs.md.
#define GPUOS_ROW_RECIPES(X)                                                 \
  X(Sum, 1)                                                                  \
  X(Mean, 1)                                                                 \
  X(Prod, 1)                                                                 \
  X(Amax, 1)                                                                 \
  X(Amin, 1)                                                                 \
  X(Argmax, 1) /* one axis, or all: then of the flattened array */           \
  X(Argmin, 1)                                                               \
  X(Any, 1)                                                                  \
  X(All, 1)                                                                  \
  X(Var, 2) /* x, number correction */                                       \
  X(Std, 2)                                                                  \
  X(Logsumexp, 1)                                                            \
  X(Norm, 1)    /* the 2-norm */                                             \
  X(Softmax, 1) /* the output has the operand's shape */                     \
  X(LogSoftmax, 1)                                                           \
  X(LayerNorm, 4)      /* x, weight, bias, number eps; over trailing axes */ \
  X(LayerNormPlain, 2) /* x, number eps */                                   \
  X(RmsNorm, 3)        /* x, weight, number eps */                           \
  X(RmsNormPlain, 2)

enum class Recipe : std::uint16_t {
#define GPUOS_NAME_RECIPE(name, operands) name,
  GPUOS_ELEMENTWISE_RECIPES(GPUOS_NAME_RECIPE)
      GPUOS_ROW_RECIPES(GPUOS_NAME_RECIPE)
#undef GPUOS_NAME_RECIPE
};

constexpr bool is_row_recipe(Recipe recipe) noexcept {
  return recipe >= Recipe::Sum;
}

/// Whether the result of a row recipe has one element for each row, not the
/// operand's shape.
constexpr bool is_reducing(Recipe recipe) noexcept {
  return is_row_recipe(recipe) && recipe < Recipe::Softmax;
}

}  // namespace gpuos
