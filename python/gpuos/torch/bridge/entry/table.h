// The table of PyTorch's operators, with their recipes and entry points.
#pragma once

#include <stdexcept>
#include <string_view>

#include "planning/types.h"
#include "pytorch/functions.h"

namespace gpuos::bridge {

/// All overloads of `name`, with the in-place, `out=` and `_foreach` forms.
struct ElementwiseName {
  std::string_view name;
  Recipe recipe;
  Rule rule;
};

inline constexpr ElementwiseName kElementwiseNames[] = {
    {"add", Recipe::Add, Rule::Arithmetic},
    {"sub", Recipe::Subtract, Rule::Arithmetic},
    {"rsub", Recipe::Subtract, Rule::Arithmetic},
    {"mul", Recipe::Multiply, Rule::Arithmetic},
    {"div", Recipe::Divide, Rule::Float},
    {"remainder", Recipe::TorchRemainder, Rule::Floating},
    {"fmod", Recipe::Fmod, Rule::Floating},
    {"floor_divide", Recipe::FloorDivide, Rule::Floating},
    {"pow", Recipe::Power, Rule::Floating},
    {"atan2", Recipe::Arctan2, Rule::Float},
    {"hypot", Recipe::Hypot, Rule::Floating},
    {"copysign", Recipe::Copysign, Rule::Float},
    {"logaddexp", Recipe::Logaddexp, Rule::Floating},
    {"maximum", Recipe::Maximum, Rule::Arithmetic},
    {"minimum", Recipe::Minimum, Rule::Arithmetic},
    {"fmax", Recipe::Fmax, Rule::Arithmetic},
    {"fmin", Recipe::Fmin, Rule::Arithmetic},
    {"lt", Recipe::Less, Rule::Comparison},
    {"le", Recipe::LessEqual, Rule::Comparison},
    {"gt", Recipe::Greater, Rule::Comparison},
    {"ge", Recipe::GreaterEqual, Rule::Comparison},
    {"eq", Recipe::Equal, Rule::Comparison},
    {"ne", Recipe::NotEqual, Rule::Comparison},
    {"bitwise_and", Recipe::BitwiseAnd, Rule::Bitwise},
    {"bitwise_or", Recipe::BitwiseOr, Rule::Bitwise},
    {"bitwise_xor", Recipe::BitwiseXor, Rule::Bitwise},
    {"logical_and", Recipe::LogicalAnd, Rule::Logical},
    {"logical_or", Recipe::LogicalOr, Rule::Logical},
    {"logical_xor", Recipe::LogicalXor, Rule::Logical},
    {"where", Recipe::Where, Rule::Select},
    {"masked_fill", Recipe::MaskedFill, Rule::Masked},
    {"lerp", Recipe::Lerp, Rule::Floating},
    {"addcmul", Recipe::Addcmul, Rule::Floating},
    {"addcdiv", Recipe::Addcdiv, Rule::Floating},
    {"clamp", Recipe::Clamp, Rule::Arithmetic},
    {"clamp_min", Recipe::ClampMin, Rule::Arithmetic},
    {"clamp_max", Recipe::ClampMax, Rule::Arithmetic},
    {"neg", Recipe::Negative, Rule::Arithmetic},
    {"abs", Recipe::Absolute, Rule::Arithmetic},
    {"sign", Recipe::TorchSign, Rule::Arithmetic},
    {"sgn", Recipe::TorchSign, Rule::Arithmetic},
    {"square", Recipe::Square, Rule::Arithmetic},
    {"reciprocal", Recipe::Reciprocal, Rule::Float},
    {"sqrt", Recipe::Sqrt, Rule::Float},
    {"rsqrt", Recipe::Rsqrt, Rule::Float},
    {"exp", Recipe::Exp, Rule::Float},
    {"exp2", Recipe::Exp2, Rule::Float},
    {"expm1", Recipe::Expm1, Rule::Float},
    {"log", Recipe::Log, Rule::Float},
    {"log2", Recipe::Log2, Rule::Float},
    {"log10", Recipe::Log10, Rule::Float},
    {"log1p", Recipe::Log1p, Rule::Float},
    {"sin", Recipe::Sin, Rule::Float},
    {"cos", Recipe::Cos, Rule::Float},
    {"tan", Recipe::Tan, Rule::Float},
    {"asin", Recipe::Arcsin, Rule::Float},
    {"acos", Recipe::Arccos, Rule::Float},
    {"atan", Recipe::Arctan, Rule::Float},
    {"sinh", Recipe::Sinh, Rule::Float},
    {"cosh", Recipe::Cosh, Rule::Float},
    {"tanh", Recipe::Tanh, Rule::Float},
    {"asinh", Recipe::Arcsinh, Rule::Float},
    {"acosh", Recipe::Arccosh, Rule::Float},
    {"atanh", Recipe::Arctanh, Rule::Float},
    {"erf", Recipe::Erf, Rule::Float},
    {"erfc", Recipe::Erfc, Rule::Float},
    {"lgamma", Recipe::Lgamma, Rule::Float},
    {"floor", Recipe::Floor, Rule::Floating},
    {"ceil", Recipe::Ceil, Rule::Floating},
    {"trunc", Recipe::Trunc, Rule::Floating},
    {"round", Recipe::TorchRound, Rule::Floating},
    {"frac", Recipe::Frac, Rule::Floating},
    {"sigmoid", Recipe::Sigmoid, Rule::Float},
    {"log_sigmoid", Recipe::LogSigmoid, Rule::Floating},
    {"relu", Recipe::Relu, Rule::Arithmetic},
    {"leaky_relu", Recipe::LeakyRelu, Rule::Floating},
    {"elu", Recipe::Elu, Rule::Floating},
    {"softplus", Recipe::Softplus, Rule::Floating},
    {"silu", Recipe::Silu, Rule::Floating},
    {"mish", Recipe::Mish, Rule::Floating},
    {"gelu", Recipe::Gelu, Rule::Floating},
    {"hardsigmoid", Recipe::Hardsigmoid, Rule::Floating},
    {"hardswish", Recipe::Hardswish, Rule::Floating},
    {"hardtanh", Recipe::Hardtanh, Rule::Floating},
    {"threshold", Recipe::Threshold, Rule::Floating},
    {"isnan", Recipe::Isnan, Rule::Test},
    {"isinf", Recipe::Isinf, Rule::Test},
    {"isfinite", Recipe::Isfinite, Rule::Test},
    {"signbit", Recipe::Signbit, Rule::Test},
    {"logical_not", Recipe::LogicalNot, Rule::Logical},
    {"bitwise_not", Recipe::Invert, Rule::Bitwise},
    {"sigmoid_backward", Recipe::SigmoidBackward, Rule::Floating},
    {"tanh_backward", Recipe::TanhBackward, Rule::Floating},
    {"threshold_backward", Recipe::ThresholdBackward, Rule::Floating},
    {"silu_backward", Recipe::SiluBackward, Rule::Floating},
    {"copy", Recipe::Copy, Rule::Copy},
    {"fill", Recipe::Where, Rule::Fill},
    {"zero", Recipe::Where, Rule::Fill},
    {"clone", Recipe::Copy, Rule::Copy},
    {"_to_copy", Recipe::Copy, Rule::Copy},
};

/// Null: there is none.
constexpr const ElementwiseName* find_name(std::string_view name) {
  for (const ElementwiseName& one : kElementwiseNames)
    if (one.name == name) return &one;
  return nullptr;
}

/// One overload of a reduction, or of a function made of one.
struct RowName {
  std::string_view name;
  Recipe recipe;
};

inline constexpr RowName kRowNames[] = {
    {"sum", Recipe::Sum},
    {"sum.dim_IntList", Recipe::Sum},
    {"mean", Recipe::Mean},
    {"mean.dim", Recipe::Mean},
    {"prod", Recipe::Prod},
    {"prod.dim_int", Recipe::Prod},
    {"amax", Recipe::Amax},
    {"amin", Recipe::Amin},
    {"max", Recipe::Amax},
    {"min", Recipe::Amin},
    {"argmax", Recipe::Argmax},
    {"argmin", Recipe::Argmin},
    {"any", Recipe::Any},
    {"any.dim", Recipe::Any},
    {"all", Recipe::All},
    {"all.dim", Recipe::All},
    {"var.correction", Recipe::Var},
    {"std.correction", Recipe::Std},
    {"logsumexp", Recipe::Logsumexp},
    {"linalg_vector_norm", Recipe::Norm},
    {"_softmax", Recipe::Softmax},
    {"_log_softmax", Recipe::LogSoftmax},
    {"layer_norm", Recipe::LayerNorm},
    {"rms_norm", Recipe::RmsNorm},
};

/// Returns the row of an elementwise operator, for any form and overload:
/// "add_" and "add.Tensor" have the row of "add". An unknown name does not
/// compile.
consteval ElementwiseName named(std::string_view name) {
  name = name.substr(0, name.find('.'));
  if (name.ends_with('_')) name.remove_suffix(1);
  for (const ElementwiseName& one : kElementwiseNames)
    if (one.name == name) return one;
  throw std::invalid_argument("expected a name of the table");
}
consteval Recipe named_row(std::string_view name) {
  for (const RowName& one : kRowNames)
    if (one.name == name) return one.recipe;
  throw std::invalid_argument("expected a name of the table");
}

// ---- Doors. Every name of the tables is taken by the dispatcher, with its
// arguments on a stack. These come by a quicker way too.

// X(method or function, its name): both of torch.Tensor and of the module
// torch.
#define GPUOS_UNARY_NAMES(X) \
  X(neg, neg)                \
  X(abs, abs)                \
  X(relu, relu)              \
  X(sigmoid, sigmoid)        \
  X(tanh, tanh)              \
  X(exp, exp)                \
  X(log, log)                \
  X(sqrt, sqrt)              \
  X(rsqrt, rsqrt)            \
  X(reciprocal, reciprocal)  \
  X(square, square)          \
  X(sin, sin)                \
  X(cos, cos)
#define GPUOS_BINARY_NAMES(X) \
  X(add, add)                 \
  X(sub, sub)                 \
  X(mul, mul)                 \
  X(div, div)                 \
  X(maximum, maximum)         \
  X(minimum, minimum)         \
  X(lt, lt)                   \
  X(le, le)                   \
  X(gt, gt)                   \
  X(ge, ge)                   \
  X(eq, eq)                   \
  X(ne, ne)
#define GPUOS_ROW_NAMES(X) \
  X(sum, sum)              \
  X(mean, mean)            \
  X(amax, amax)            \
  X(amin, amin)            \
  X(softmax, _softmax)     \
  X(log_softmax, _log_softmax)

// X(method, its name): of torch.Tensor alone.
#define GPUOS_BINARY_METHODS(X) \
  X(__add__, add)               \
  X(__radd__, add)              \
  X(__sub__, sub)               \
  X(__mul__, mul)               \
  X(__rmul__, mul)              \
  X(__truediv__, div)           \
  X(__lt__, lt)                 \
  X(__le__, le)                 \
  X(__gt__, gt)                 \
  X(__ge__, ge)                 \
  X(__eq__, eq)                 \
  X(__ne__, ne)                 \
  X(__and__, bitwise_and)       \
  X(__or__, bitwise_or)         \
  X(__xor__, bitwise_xor)       \
  GPUOS_BINARY_NAMES(X)
// The number comes first.
#define GPUOS_REVERSED_METHODS(X) X(__rsub__, sub)
#define GPUOS_IN_PLACE_METHODS(X) \
  X(__iadd__, add)                \
  X(__isub__, sub)                \
  X(__imul__, mul)                \
  X(__itruediv__, div)            \
  X(add_, add)                    \
  X(sub_, sub)                    \
  X(mul_, mul)                    \
  X(div_, div)
#define GPUOS_UNARY_METHODS(X) \
  X(__neg__, neg)              \
  GPUOS_UNARY_NAMES(X)
// X(method)
#define GPUOS_POWER_METHODS(X) \
  X(__pow__)                   \
  X(pow)

// X(overload, its structure in at::_ops, form): operators that the dispatcher
// calls by a separate kernel. kernels.cpp defines the forms.
#define GPUOS_KERNELS(X)                              \
  X("add.Tensor", add_Tensor, scaled)                 \
  X("sub.Tensor", sub_Tensor, scaled)                 \
  X("add_.Tensor", add__Tensor, scaled_in_place)      \
  X("sub_.Tensor", sub__Tensor, scaled_in_place)      \
  X("mul.Tensor", mul_Tensor, binary)                 \
  X("div.Tensor", div_Tensor, binary)                 \
  X("mul_.Tensor", mul__Tensor, binary_in_place)      \
  X("div_.Tensor", div__Tensor, binary_in_place)      \
  X("bitwise_and.Tensor", bitwise_and_Tensor, binary) \
  X("bitwise_or.Tensor", bitwise_or_Tensor, binary)   \
  X("bitwise_xor.Tensor", bitwise_xor_Tensor, binary) \
  X("add.out", add_out, scaled_out)                   \
  X("sub.out", sub_out, scaled_out)                   \
  X("mul.out", mul_out, binary_out)                   \
  X("div.out", div_out, binary_out)                   \
  X("neg.out", neg_out, unary_out)                    \
  X("abs.out", abs_out, unary_out)                    \
  X("sigmoid.out", sigmoid_out, unary_out)            \
  X("tanh.out", tanh_out, unary_out)                  \
  X("exp.out", exp_out, unary_out)                    \
  X("log.out", log_out, unary_out)                    \
  X("sqrt.out", sqrt_out, unary_out)                  \
  X("maximum", maximum, binary)                       \
  X("minimum", minimum, binary)                       \
  X("neg", neg, unary)                                \
  X("abs", abs, unary)                                \
  X("relu", relu, unary)                              \
  X("sigmoid", sigmoid, unary)                        \
  X("silu", silu, unary)                              \
  X("tanh", tanh, unary)                              \
  X("exp", exp, unary)                                \
  X("log", log, unary)                                \
  X("sin", sin, unary)                                \
  X("cos", cos, unary)                                \
  X("sqrt", sqrt, unary)                              \
  X("rsqrt", rsqrt, unary)
#define GPUOS_ROW_KERNELS(X)                        \
  X("sum", sum, all_rows)                           \
  X("mean", mean, all_rows)                         \
  X("sum.dim_IntList", sum_dim_IntList, typed_rows) \
  X("mean.dim", mean_dim, typed_rows)               \
  X("amax", amax, extreme_rows)                     \
  X("amin", amin, extreme_rows)                     \
  X("_softmax", _softmax, softmax)                  \
  X("_log_softmax", _log_softmax, softmax)

}  // namespace gpuos::bridge
