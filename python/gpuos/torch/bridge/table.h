// Which operators of PyTorch are which recipe.
#pragma once

#include <string_view>

#include "gpuos/recipes.h"
#include "types.h"

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

/// One overload of a reduction, or of what is made of one.
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

}  // namespace gpuos::bridge
