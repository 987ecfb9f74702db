#include "kernels.h"

#include <ATen/ops/abs_ops.h>
#include <ATen/ops/add_ops.h>
#include <ATen/ops/cos_ops.h>
#include <ATen/ops/div_ops.h>
#include <ATen/ops/exp_ops.h>
#include <ATen/ops/log_ops.h>
#include <ATen/ops/maximum_ops.h>
#include <ATen/ops/minimum_ops.h>
#include <ATen/ops/mul_ops.h>
#include <ATen/ops/neg_ops.h>
#include <ATen/ops/relu_ops.h>
#include <ATen/ops/rsqrt_ops.h>
#include <ATen/ops/sigmoid_ops.h>
#include <ATen/ops/silu_ops.h>
#include <ATen/ops/sin_ops.h>
#include <ATen/ops/sqrt_ops.h>
#include <ATen/ops/sub_ops.h>
#include <ATen/ops/tanh_ops.h>

#include "elementwise.h"
#include "keys.h"

namespace gpuos::bridge {
namespace {

DispatchKeySet behind(DispatchKeySet keys) {
  return (keys & kBehindMode).add(kPendingKey);
}

/// `number` if `other` is one that PyTorch made a tensor of.
Tensor take(const Elementwise& what, const Tensor& tensor,
            const Tensor& other) {
  if (!is_plain_thread() || !is_without_grad(tensor) || !is_without_grad(other))
    return {};
  if (!other.unsafeGetTensorImpl()->is_wrapped_number())
    return defer_alike(what, tensor, other);
  const auto number = wrapped_number(other);
  if (!number || number->isComplex()) return {};
  return defer_alike(what, tensor, number->toDouble());
}

bool take_into(const Elementwise& what, const Tensor& out,
               const Tensor& other) {
  if (!is_plain_thread() || !is_written_without_grad(out) ||
      out.is_inference() || !is_without_grad(other) ||
      other.unsafeGetTensorImpl()->is_wrapped_number() ||
      !defer_alike_into(what, out, other))
    return false;
  out.unsafeGetTensorImpl()->bump_version();
  return true;
}

template <typename Op, Recipe kRecipe, Rule kRule>
Tensor unary(DispatchKeySet keys, const Tensor& tensor) {
  if (is_plain_thread() && is_without_grad(tensor)) {
    Tensor out = defer_alike({kRecipe, kRule}, tensor, Tensor());
    if (C10_LIKELY(out.defined())) return out;
  }
  return Op::redispatch(behind(keys), tensor);
}

template <typename Op, Recipe kRecipe, Rule kRule>
Tensor binary(DispatchKeySet keys, const Tensor& tensor, const Tensor& other) {
  Tensor out = take({kRecipe, kRule}, tensor, other);
  if (C10_LIKELY(out.defined())) return out;
  return Op::redispatch(behind(keys), tensor, other);
}

template <typename Op, Recipe kRecipe, Rule kRule>
Tensor scaled(DispatchKeySet keys, const Tensor& tensor, const Tensor& other,
              const c10::Scalar& alpha) {
  if (C10_LIKELY(alpha.equal(1))) {
    Tensor out = take({kRecipe, kRule}, tensor, other);
    if (C10_LIKELY(out.defined())) return out;
  }
  return Op::redispatch(behind(keys), tensor, other, alpha);
}

template <typename Op, Recipe kRecipe, Rule kRule>
Tensor& binary_in_place(DispatchKeySet keys, Tensor& tensor,
                        const Tensor& other) {
  if (take_into({kRecipe, kRule}, tensor, other)) return tensor;
  return Op::redispatch(behind(keys), tensor, other);
}

template <typename Op, Recipe kRecipe, Rule kRule>
Tensor& scaled_in_place(DispatchKeySet keys, Tensor& tensor,
                        const Tensor& other, const c10::Scalar& alpha) {
  if (alpha.equal(1) && take_into({kRecipe, kRule}, tensor, other))
    return tensor;
  return Op::redispatch(behind(keys), tensor, other, alpha);
}

}  // namespace

// X(PyTorch's name, its structure, form, recipe, rule)
#define GPUOS_KERNELS(X)                                          \
  X("add.Tensor", add_Tensor, scaled, Add, Arithmetic)            \
  X("sub.Tensor", sub_Tensor, scaled, Sub, Arithmetic)            \
  X("add_.Tensor", add__Tensor, scaled_in_place, Add, Arithmetic) \
  X("sub_.Tensor", sub__Tensor, scaled_in_place, Sub, Arithmetic) \
  X("mul.Tensor", mul_Tensor, binary, Mul, Arithmetic)            \
  X("div.Tensor", div_Tensor, binary, Div, Float)                 \
  X("mul_.Tensor", mul__Tensor, binary_in_place, Mul, Arithmetic) \
  X("div_.Tensor", div__Tensor, binary_in_place, Div, Float)      \
  X("maximum", maximum, binary, Maximum, Arithmetic)              \
  X("minimum", minimum, binary, Minimum, Arithmetic)              \
  X("neg", neg, unary, Neg, Arithmetic)                           \
  X("abs", abs, unary, Abs, Arithmetic)                           \
  X("relu", relu, unary, Relu, Arithmetic)                        \
  X("sigmoid", sigmoid, unary, Sigmoid, Float)                    \
  X("silu", silu, unary, Silu, Floating)                          \
  X("tanh", tanh, unary, Tanh, Float)                             \
  X("exp", exp, unary, Exp, Float)                                \
  X("log", log, unary, Log, Float)                                \
  X("sin", sin, unary, Sin, Float)                                \
  X("cos", cos, unary, Cos, Float)                                \
  X("sqrt", sqrt, unary, Sqrt, Float)                             \
  X("rsqrt", rsqrt, unary, Rsqrt, Float)

std::vector<std::string> register_kernels(torch::Library& mode) {
#define GPUOS_REGISTER_KERNEL(name, op, form, recipe, rule) \
  mode.impl(name, &form<at::_ops::op, Recipe::recipe, Rule::rule>);
  GPUOS_KERNELS(GPUOS_REGISTER_KERNEL)
#undef GPUOS_REGISTER_KERNEL
  return {
#define GPUOS_NAME_KERNEL(name, op, form, recipe, rule) name,
      GPUOS_KERNELS(GPUOS_NAME_KERNEL)
#undef GPUOS_NAME_KERNEL
  };
}

}  // namespace gpuos::bridge
