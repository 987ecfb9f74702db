#pragma once

#include <cstdint>
#include <string_view>

namespace gpuos {

/// What decides the dtype of an operation's operands and of its result.
enum class OpRule : std::uint8_t {
  Leaf,        // inputs, scalars, casts, views: not of operands alone
  Arithmetic,  // the promoted dtype
  Division,    // the same, integers as float64
  Real,        // the same, integers as the smallest float that holds them
  Integer,     // the same, integers and bool only
  Comparison,  // the promoted dtype in, bool out
  Test,        // any dtype in, bool out
  Parts,       // complex in, float32 out; a real dtype stays
  Select,      // a condition and two values of the promoted dtype
  Reduction
};

// X(name, NumPy's name, operands, rule)
#define GPUOS_PROGRAM_OPS(X)                    \
  X(Input, "input", 0, Leaf)                    \
  X(Scalar, "scalar", 0, Leaf)                  \
  X(Extent, "extent", 1, Leaf)                  \
  X(Cast, "astype", 1, Leaf)                    \
  X(View, "transpose", 1, Leaf)                 \
  X(Add, "add", 2, Arithmetic)                  \
  X(Subtract, "subtract", 2, Arithmetic)        \
  X(Multiply, "multiply", 2, Arithmetic)        \
  X(Divide, "divide", 2, Division)              \
  X(FloorDivide, "floor_divide", 2, Arithmetic) \
  X(Remainder, "remainder", 2, Arithmetic)      \
  X(Fmod, "fmod", 2, Arithmetic)                \
  X(Power, "power", 2, Arithmetic)              \
  X(Maximum, "maximum", 2, Arithmetic)          \
  X(Minimum, "minimum", 2, Arithmetic)          \
  X(Fmax, "fmax", 2, Arithmetic)                \
  X(Fmin, "fmin", 2, Arithmetic)                \
  X(Negative, "negative", 1, Arithmetic)        \
  X(Square, "square", 1, Arithmetic)            \
  X(Reciprocal, "reciprocal", 1, Arithmetic)    \
  X(Sign, "sign", 1, Arithmetic)                \
  X(Floor, "floor", 1, Arithmetic)              \
  X(Ceil, "ceil", 1, Arithmetic)                \
  X(Trunc, "trunc", 1, Arithmetic)              \
  X(Conjugate, "conjugate", 1, Arithmetic)      \
  X(Absolute, "absolute", 1, Parts)             \
  X(RealPart, "real", 1, Parts)                 \
  X(ImaginaryPart, "imag", 1, Parts)            \
  X(Arctan2, "arctan2", 2, Real)                \
  X(Hypot, "hypot", 2, Real)                    \
  X(Logaddexp, "logaddexp", 2, Real)            \
  X(Copysign, "copysign", 2, Real)              \
  X(Heaviside, "heaviside", 2, Real)            \
  X(Rint, "rint", 1, Real)                      \
  X(Exp, "exp", 1, Real)                        \
  X(Exp2, "exp2", 1, Real)                      \
  X(Expm1, "expm1", 1, Real)                    \
  X(Log, "log", 1, Real)                        \
  X(Log2, "log2", 1, Real)                      \
  X(Log10, "log10", 1, Real)                    \
  X(Log1p, "log1p", 1, Real)                    \
  X(Sqrt, "sqrt", 1, Real)                      \
  X(Rsqrt, "rsqrt", 1, Real)                    \
  X(Cbrt, "cbrt", 1, Real)                      \
  X(Sin, "sin", 1, Real)                        \
  X(Cos, "cos", 1, Real)                        \
  X(Tan, "tan", 1, Real)                        \
  X(Arcsin, "arcsin", 1, Real)                  \
  X(Arccos, "arccos", 1, Real)                  \
  X(Arctan, "arctan", 1, Real)                  \
  X(Sinh, "sinh", 1, Real)                      \
  X(Cosh, "cosh", 1, Real)                      \
  X(Tanh, "tanh", 1, Real)                      \
  X(Arcsinh, "arcsinh", 1, Real)                \
  X(Arccosh, "arccosh", 1, Real)                \
  X(Arctanh, "arctanh", 1, Real)                \
  X(Erf, "erf", 1, Real)                        \
  X(Erfc, "erfc", 1, Real)                      \
  X(Lgamma, "lgamma", 1, Real)                  \
  X(Sigmoid, "sigmoid", 1, Real)                \
  X(Silu, "silu", 1, Real)                      \
  X(Gelu, "gelu", 1, Real)                      \
  X(GeluTanh, "gelu_tanh", 1, Real)             \
  X(Less, "less", 2, Comparison)                \
  X(LessEqual, "less_equal", 2, Comparison)     \
  X(Equal, "equal", 2, Comparison)              \
  X(NotEqual, "not_equal", 2, Comparison)       \
  X(BitwiseAnd, "bitwise_and", 2, Integer)      \
  X(BitwiseOr, "bitwise_or", 2, Integer)        \
  X(BitwiseXor, "bitwise_xor", 2, Integer)      \
  X(Invert, "invert", 1, Integer)               \
  X(LeftShift, "left_shift", 2, Integer)        \
  X(RightShift, "right_shift", 2, Integer)      \
  X(Isnan, "isnan", 1, Test)                    \
  X(Isinf, "isinf", 1, Test)                    \
  X(Isfinite, "isfinite", 1, Test)              \
  X(Signbit, "signbit", 1, Test)                \
  X(Where, "where", 3, Select)                  \
  X(Sum, "sum", 1, Reduction)                   \
  X(Prod, "prod", 1, Reduction)                 \
  X(Max, "max", 1, Reduction)                   \
  X(Min, "min", 1, Reduction)                   \
  X(Argmax, "argmax", 1, Reduction)             \
  X(Argmin, "argmin", 1, Reduction)

/// One node of a program. docs/programs.md says what each computes.
enum class Op : std::uint8_t {
#define GPUOS_NAME_OP(name, numpy, operands, rule) name,
  GPUOS_PROGRAM_OPS(GPUOS_NAME_OP)
#undef GPUOS_NAME_OP
};

struct OpInfo {
  std::string_view name;  // NumPy's
  std::uint8_t operands;
  OpRule rule;
};

inline constexpr OpInfo kOpInfos[] = {
#define GPUOS_DESCRIBE_OP(name, numpy, operands, rule) \
  {numpy, operands, OpRule::rule},
    GPUOS_PROGRAM_OPS(GPUOS_DESCRIBE_OP)
#undef GPUOS_DESCRIBE_OP
};

constexpr const OpInfo& info_of(Op op) noexcept {
  return kOpInfos[static_cast<std::size_t>(op)];
}

}  // namespace gpuos
