// The table of PyTorch's operators, with their functions and entry points.
#pragma once

#include <stdexcept>
#include <string_view>

#include "planning/types.h"
#include "pytorch/functions.h"

namespace gpuos::bridge {

/// All overloads of `name`, with the in-place, `out=` and `_foreach` forms.
struct ElementwiseName {
  std::string_view name;
  Function function;
  Rule rule;
};

inline constexpr ElementwiseName kElementwiseNames[] = {
    {"add", Function::Add, Rule::Arithmetic},
    {"sub", Function::Subtract, Rule::Arithmetic},
    {"rsub", Function::Subtract, Rule::Arithmetic},
    {"mul", Function::Multiply, Rule::Arithmetic},
    {"div", Function::Divide, Rule::Float},
    {"remainder", Function::TorchRemainder, Rule::Floating},
    {"fmod", Function::Fmod, Rule::Floating},
    {"floor_divide", Function::FloorDivide, Rule::Floating},
    {"pow", Function::Power, Rule::Floating},
    {"atan2", Function::Arctan2, Rule::Float},
    {"hypot", Function::Hypot, Rule::Floating},
    {"copysign", Function::Copysign, Rule::Float},
    {"nextafter", Function::Nextafter, Rule::Floating},
    {"logaddexp", Function::Logaddexp, Rule::Floating},
    {"maximum", Function::Maximum, Rule::Arithmetic},
    {"minimum", Function::Minimum, Rule::Arithmetic},
    {"fmax", Function::Fmax, Rule::Arithmetic},
    {"fmin", Function::Fmin, Rule::Arithmetic},
    {"lt", Function::Less, Rule::Comparison},
    {"le", Function::LessEqual, Rule::Comparison},
    {"gt", Function::Greater, Rule::Comparison},
    {"ge", Function::GreaterEqual, Rule::Comparison},
    {"eq", Function::Equal, Rule::Comparison},
    {"ne", Function::NotEqual, Rule::Comparison},
    {"bitwise_and", Function::BitwiseAnd, Rule::Bitwise},
    {"bitwise_or", Function::BitwiseOr, Rule::Bitwise},
    {"bitwise_xor", Function::BitwiseXor, Rule::Bitwise},
    {"logical_and", Function::LogicalAnd, Rule::Logical},
    {"logical_or", Function::LogicalOr, Rule::Logical},
    {"logical_xor", Function::LogicalXor, Rule::Logical},
    {"where", Function::Where, Rule::Select},
    {"masked_fill", Function::MaskedFill, Rule::Masked},
    {"lerp", Function::Lerp, Rule::Floating},
    {"addcmul", Function::Addcmul, Rule::Floating},
    {"addcdiv", Function::Addcdiv, Rule::Floating},
    {"clamp", Function::Clamp, Rule::Arithmetic},
    {"clamp_min", Function::ClampMin, Rule::Arithmetic},
    {"clamp_max", Function::ClampMax, Rule::Arithmetic},
    {"neg", Function::Negative, Rule::Arithmetic},
    {"abs", Function::Absolute, Rule::Arithmetic},
    {"sign", Function::TorchSign, Rule::Arithmetic},
    {"sgn", Function::TorchSign, Rule::Arithmetic},
    {"square", Function::Square, Rule::Arithmetic},
    {"reciprocal", Function::Reciprocal, Rule::Float},
    {"sqrt", Function::Sqrt, Rule::Float},
    {"rsqrt", Function::Rsqrt, Rule::Float},
    {"exp", Function::Exp, Rule::Float},
    {"exp2", Function::Exp2, Rule::Float},
    {"expm1", Function::Expm1, Rule::Float},
    {"log", Function::Log, Rule::Float},
    {"log2", Function::Log2, Rule::Float},
    {"log10", Function::Log10, Rule::Float},
    {"log1p", Function::Log1p, Rule::Float},
    {"sin", Function::Sin, Rule::Float},
    {"cos", Function::Cos, Rule::Float},
    {"tan", Function::Tan, Rule::Float},
    {"asin", Function::Arcsin, Rule::Float},
    {"acos", Function::Arccos, Rule::Float},
    {"atan", Function::Arctan, Rule::Float},
    {"sinh", Function::Sinh, Rule::Float},
    {"cosh", Function::Cosh, Rule::Float},
    {"tanh", Function::Tanh, Rule::Float},
    {"asinh", Function::Arcsinh, Rule::Float},
    {"acosh", Function::Arccosh, Rule::Float},
    {"atanh", Function::Arctanh, Rule::Float},
    {"erf", Function::Erf, Rule::Float},
    {"erfc", Function::Erfc, Rule::Float},
    {"lgamma", Function::Lgamma, Rule::Float},
    {"floor", Function::Floor, Rule::Floating},
    {"ceil", Function::Ceil, Rule::Floating},
    {"trunc", Function::Trunc, Rule::Floating},
    {"round", Function::TorchRound, Rule::Floating},
    {"frac", Function::Frac, Rule::Floating},
    {"sigmoid", Function::Sigmoid, Rule::Float},
    {"log_sigmoid", Function::LogSigmoid, Rule::Floating},
    {"relu", Function::Relu, Rule::Arithmetic},
    {"leaky_relu", Function::LeakyRelu, Rule::Floating},
    {"elu", Function::Elu, Rule::Floating},
    {"softplus", Function::Softplus, Rule::Floating},
    {"silu", Function::Silu, Rule::Floating},
    {"mish", Function::Mish, Rule::Floating},
    {"gelu", Function::Gelu, Rule::Floating},
    {"hardsigmoid", Function::Hardsigmoid, Rule::Floating},
    {"hardswish", Function::Hardswish, Rule::Floating},
    {"hardtanh", Function::Hardtanh, Rule::Floating},
    {"threshold", Function::Threshold, Rule::Floating},
    {"isnan", Function::Isnan, Rule::Test},
    {"isinf", Function::Isinf, Rule::Test},
    {"isfinite", Function::Isfinite, Rule::Test},
    {"signbit", Function::Signbit, Rule::Test},
    {"logical_not", Function::LogicalNot, Rule::Logical},
    {"bitwise_not", Function::Invert, Rule::Bitwise},
    {"sigmoid_backward", Function::SigmoidBackward, Rule::Floating},
    {"tanh_backward", Function::TanhBackward, Rule::Floating},
    {"threshold_backward", Function::ThresholdBackward, Rule::Floating},
    {"silu_backward", Function::SiluBackward, Rule::Floating},
    {"copy", Function::Copy, Rule::Copy},
    {"fill", Function::Where, Rule::Fill},
    {"zero", Function::Where, Rule::Fill},
    {"clone", Function::Copy, Rule::Copy},
    {"_to_copy", Function::Copy, Rule::Copy},
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
  Function function;
};

inline constexpr RowName kRowNames[] = {
    {"sum", Function::Sum},
    {"sum.dim_IntList", Function::Sum},
    {"mean", Function::Mean},
    {"mean.dim", Function::Mean},
    {"prod", Function::Prod},
    {"prod.dim_int", Function::Prod},
    {"amax", Function::Amax},
    {"amin", Function::Amin},
    {"max", Function::Amax},
    {"min", Function::Amin},
    {"argmax", Function::Argmax},
    {"argmin", Function::Argmin},
    {"any", Function::Any},
    {"any.dim", Function::Any},
    {"all", Function::All},
    {"all.dim", Function::All},
    {"var.correction", Function::Var},
    {"std.correction", Function::Std},
    {"logsumexp", Function::Logsumexp},
    {"linalg_vector_norm", Function::Norm},
    {"_softmax", Function::Softmax},
    {"_log_softmax", Function::LogSoftmax},
    {"layer_norm", Function::LayerNorm},
    {"rms_norm", Function::RmsNorm},
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
consteval Function named_row(std::string_view name) {
  for (const RowName& one : kRowNames)
    if (one.name == name) return one.function;
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
