#include "entry/setup.h"

#include <ATen/ops/_log_softmax_ops.h>
#include <ATen/ops/_softmax_ops.h>
#include <ATen/ops/abs_ops.h>
#include <ATen/ops/add_ops.h>
#include <ATen/ops/amax_ops.h>
#include <ATen/ops/amin_ops.h>
#include <ATen/ops/bitwise_and_ops.h>
#include <ATen/ops/bitwise_or_ops.h>
#include <ATen/ops/bitwise_xor_ops.h>
#include <ATen/ops/copy_ops.h>
#include <ATen/ops/cos_ops.h>
#include <ATen/ops/div_ops.h>
#include <ATen/ops/exp_ops.h>
#include <ATen/ops/log_ops.h>
#include <ATen/ops/maximum_ops.h>
#include <ATen/ops/mean_ops.h>
#include <ATen/ops/minimum_ops.h>
#include <ATen/ops/mul_ops.h>
#include <ATen/ops/neg_ops.h>
#include <ATen/ops/pow_ops.h>
#include <ATen/ops/relu_ops.h>
#include <ATen/ops/rsqrt_ops.h>
#include <ATen/ops/sigmoid_ops.h>
#include <ATen/ops/silu_ops.h>
#include <ATen/ops/sin_ops.h>
#include <ATen/ops/sqrt_ops.h>
#include <ATen/ops/sub_ops.h>
#include <ATen/ops/sum_ops.h>
#include <ATen/ops/tanh_ops.h>
#include <ATen/ops/where_ops.h>

#include <type_traits>

#include "entry/redispatch_keys.h"
#include "entry/schema.h"
#include "entry/table.h"
#include "flush/pass_through.h"
#include "flush/pending.h"
#include "planning/elementwise.h"
#include "planning/rows.h"
#include "pytorch/keys.h"
#include "pytorch/modes.h"

namespace gpuos::bridge {
namespace {

template <typename Argument>
bool is_apart_if_tensor(const Argument& argument, bool writes) {
  if constexpr (std::is_same_v<Argument, Tensor>)
    return !argument.defined() || is_apart(argument, writes);
  else
    return !std::is_convertible_v<Argument, at::TensorList>;
}

template <typename Argument>
void forget_if_tensor(const Argument& argument) {
  if constexpr (std::is_same_v<Argument, Tensor>) pending.forget(argument);
}

template <typename Op>
const c10::OperatorName& name_of() {
  static const c10::OperatorName name(Op::name, Op::overload_name);
  return name;
}

/// PyTorch does it: at once, or after another look below autograd.
template <typename Op, typename First, typename... Rest>
decltype(auto) pass(DispatchKeySet keys, First& tensor, Rest&... rest) {
  using Result = decltype(Op::redispatch(keys, tensor, rest...));
  const bool passes_through = take_rejection() || passes_below(tensor);
  if (passes_through && !keys.has_any(kMadeOfOthers)) {
    // All of them count as written, if one is.
    constexpr bool kWrites = std::is_reference_v<Result>;
    if constexpr (kWrites) {
      forget_if_tensor(tensor);
      (forget_if_tensor(rest), ...);
    }
    const PassThrough pass(
        name_of<Op>(),
        pending.is_empty() || (is_apart_if_tensor(tensor, kWrites) && ... &&
                               is_apart_if_tensor(rest, kWrites)));
    return Op::redispatch(keys & kBelowMode, tensor, rest...);
  }
  return Op::redispatch(RedispatchKeys(keys, name_of<Op>()), tensor, rest...);
}

void note_taken(const Tensor& out) {
  pending.correct_saved(saved_correction(EntryPoint::Kernel, out.is_cpu()));
}

bool is_made_of_number(const Tensor& tensor) {
  return C10_UNLIKELY(tensor.unsafeGetTensorImpl()->is_wrapped_number());
}

/// Returns the operand of a tensor. A tensor that PyTorch made of a number is
/// that number.
TorchOperand operand_of(const Tensor& tensor) {
  if (const auto number = wrapped_number(tensor)) return {.number = *number};
  return {.tensor = &tensor};
}

bool are_without_grad(std::span<const TorchOperand> operands) {
  for (const TorchOperand& operand : operands)
    if (!operand.is_number() && !is_without_grad(*operand.tensor)) return false;
  return true;
}

/// Undefined: PyTorch must do it, or autograd comes first.
Tensor take(const Elementwise& what, std::span<const TorchOperand> operands) {
  if (!is_usual_thread() || !are_without_grad(operands)) return {};
  Tensor out = defer(what, operands);
  if (out.defined()) note_taken(out);
  return out;
}

/// Into `out`, which may be one of the operands.
bool take_into(const Elementwise& what, std::span<const TorchOperand> operands,
               const Tensor& out) {
  if (!is_usual_thread() || !is_without_grad(out) || !is_writable(out) ||
      !are_without_grad(operands) || !defer(what, operands, out).defined())
    return false;
  note_taken(out);
  out.unsafeGetTensorImpl()->bump_version();
  return true;
}

Tensor take(const Elementwise& what, const Tensor& tensor,
            const Tensor& other) {
  if (!is_usual_thread() || !is_without_grad(tensor) || !is_without_grad(other))
    return {};
  Tensor out;
  if (is_made_of_number(tensor)) {
    const TorchOperand operands[] = {operand_of(tensor), operand_of(other)};
    out = defer(what, operands);
  } else if (!is_made_of_number(other)) {
    out = defer(what, tensor, other);
  } else if (const auto number = wrapped_number(other)) {
    out = defer(what, tensor, *number);
  }
  if (C10_LIKELY(out.defined())) note_taken(out);
  return out;
}

bool take_into(const Elementwise& what, const Tensor& out,
               const Tensor& other) {
  if (!is_usual_thread() || !is_without_grad(out) || !is_writable(out) ||
      !is_without_grad(other))
    return false;
  const auto number = wrapped_number(other);
  const bool is_taken =
      number ? defer_into(what, out, *number)
             : !is_made_of_number(other) && defer_into(what, out, other);
  if (!is_taken) return false;
  note_taken(out);
  out.unsafeGetTensorImpl()->bump_version();
  return true;
}

bool may_scale(const Tensor& tensor, const c10::Scalar& alpha) {
  return at::isFloatingType(tensor.scalar_type()) && !alpha.isComplex() &&
         !alpha.isBoolean();
}
/// Returns whether tensor + alpha * other equals tensor + other. Eager refuses
/// a 1.0 with integers.
bool is_one(const Tensor& tensor, const c10::Scalar& alpha) {
  return alpha.equal(1) &&
         (alpha.isIntegral(/*includeBool=*/false) || may_scale(tensor, alpha));
}

template <typename Op, Function kFunction, Rule kRule>
Tensor unary(DispatchKeySet keys, const Tensor& tensor) {
  if (is_usual_thread() && is_without_grad(tensor)) {
    Tensor out = defer({kFunction, kRule}, tensor);
    if (C10_LIKELY(out.defined())) {
      note_taken(out);
      return out;
    }
  }
  return pass<Op>(keys, tensor);
}

template <typename Op, Function kFunction, Rule kRule>
Tensor binary(DispatchKeySet keys, const Tensor& tensor, const Tensor& other) {
  Tensor out = take({kFunction, kRule}, tensor, other);
  if (C10_LIKELY(out.defined())) return out;
  return pass<Op>(keys, tensor, other);
}

template <typename Op, Function kFunction, Rule kRule>
Tensor scaled(DispatchKeySet keys, const Tensor& tensor, const Tensor& other,
              const c10::Scalar& alpha) {
  Tensor out;
  if (C10_LIKELY(is_one(tensor, alpha))) {
    out = take({kFunction, kRule}, tensor, other);
  } else if (may_scale(tensor, alpha)) {
    const TorchOperand operands[] = {
        operand_of(tensor), operand_of(other), {.number = alpha}};
    out = take({with_factor(kFunction), kRule}, operands);
  }
  if (C10_LIKELY(out.defined())) return out;
  return pass<Op>(keys, tensor, other, alpha);
}

template <typename Op, Function kFunction, Rule kRule>
Tensor& binary_in_place(DispatchKeySet keys, Tensor& tensor,
                        const Tensor& other) {
  if (take_into({kFunction, kRule}, tensor, other)) return tensor;
  return pass<Op>(keys, tensor, other);
}

template <typename Op, Function kFunction, Rule kRule>
Tensor& scaled_in_place(DispatchKeySet keys, Tensor& tensor,
                        const Tensor& other, const c10::Scalar& alpha) {
  if (is_one(tensor, alpha)) {
    if (take_into({kFunction, kRule}, tensor, other)) return tensor;
  } else if (may_scale(tensor, alpha)) {
    const TorchOperand operands[] = {
        operand_of(tensor), operand_of(other), {.number = alpha}};
    if (take_into({with_factor(kFunction), kRule}, operands, tensor))
      return tensor;
  }
  return pass<Op>(keys, tensor, other, alpha);
}

template <typename Op, Function kFunction, Rule kRule>
Tensor& unary_out(DispatchKeySet keys, const Tensor& tensor, Tensor& out) {
  const TorchOperand operand{.tensor = &tensor};
  if (take_into({kFunction, kRule}, {&operand, 1}, out)) return out;
  return pass<Op>(keys, tensor, out);
}

template <typename Op, Function kFunction, Rule kRule>
Tensor& binary_out(DispatchKeySet keys, const Tensor& tensor,
                   const Tensor& other, Tensor& out) {
  const TorchOperand operands[] = {operand_of(tensor), operand_of(other)};
  if (take_into({kFunction, kRule}, operands, out)) return out;
  return pass<Op>(keys, tensor, other, out);
}

template <typename Op, Function kFunction, Rule kRule>
Tensor& scaled_out(DispatchKeySet keys, const Tensor& tensor,
                   const Tensor& other, const c10::Scalar& alpha, Tensor& out) {
  const TorchOperand operands[] = {operand_of(tensor), operand_of(other)};
  if (is_one(tensor, alpha) && take_into({kFunction, kRule}, operands, out))
    return out;
  return pass<Op>(keys, tensor, other, alpha, out);
}

Tensor power(DispatchKeySet keys, const Tensor& tensor,
             const c10::Scalar& exponent) {
  Tensor out;
  if (!exponent.isComplex() && !exponent.isBoolean()) {
    const TorchOperand operands[] = {{.tensor = &tensor}, {.number = exponent}};
    const auto simpler =
        simpler_power(exponent.toDouble(), tensor.scalar_type());
    out = simpler ? take({*simpler, Rule::Floating}, std::span(operands, 1))
                  : take({Function::Power, Rule::Floating}, operands);
  }
  if (C10_LIKELY(out.defined())) return out;
  return pass<at::_ops::pow_Tensor_Scalar>(keys, tensor, exponent);
}

Tensor& copy_into(DispatchKeySet keys, Tensor& tensor, const Tensor& source,
                  bool non_blocking) {
  const TorchOperand operand{.tensor = &source};
  if (take_into({Function::Copy, Rule::Copy}, {&operand, 1}, tensor))
    return tensor;
  return pass<at::_ops::copy_>(keys, tensor, source, non_blocking);
}

TorchOperand operand_of(const c10::Scalar& number) {
  return {.number = number};
}

/// `A`, `B`: tensors or numbers.
template <typename Op, typename A, typename B>
Tensor select(DispatchKeySet keys, const Tensor& condition, const A& a,
              const B& b) {
  const TorchOperand operands[] = {
      {.tensor = &condition}, operand_of(a), operand_of(b)};
  Tensor out = take({Function::Where, Rule::Select}, operands);
  if (C10_LIKELY(out.defined())) return out;
  return pass<Op>(keys, condition, a, b);
}

// ---- rows

Tensor take_rows(Function function, const Tensor& tensor,
                 const RowArguments& arguments) {
  if (!is_usual_thread() || !is_without_grad(tensor)) return {};
  Tensor out = defer_rows({function}, tensor, arguments);
  if (out.defined()) note_taken(out);
  return out;
}

template <typename Op, Function kFunction>
Tensor all_rows(DispatchKeySet keys, const Tensor& tensor,
                std::optional<at::ScalarType> type) {
  Tensor out = take_rows(kFunction, tensor, {.type = type});
  if (C10_LIKELY(out.defined())) return out;
  return pass<Op>(keys, tensor, type);
}

template <typename Op, Function kFunction>
Tensor typed_rows(DispatchKeySet keys, const Tensor& tensor,
                  at::OptionalIntArrayRef dims, bool keepdim,
                  std::optional<at::ScalarType> type) {
  Tensor out = take_rows(kFunction, tensor,
                         {.dims = dims, .keepdims = keepdim, .type = type});
  if (C10_LIKELY(out.defined())) return out;
  return pass<Op>(keys, tensor, dims, keepdim, type);
}

template <typename Op, Function kFunction>
Tensor extreme_rows(DispatchKeySet keys, const Tensor& tensor,
                    at::IntArrayRef dims, bool keepdim) {
  Tensor out =
      take_rows(kFunction, tensor, {.dims = dims, .keepdims = keepdim});
  if (C10_LIKELY(out.defined())) return out;
  return pass<Op>(keys, tensor, dims, keepdim);
}

template <typename Op, Function kFunction>
Tensor softmax(DispatchKeySet keys, const Tensor& tensor, std::int64_t dim,
               bool half_to_float) {
  RowArguments arguments{.dims = at::IntArrayRef(dim)};
  if (half_to_float) arguments.type = at::kFloat;
  Tensor out = take_rows(kFunction, tensor, arguments);
  if (C10_LIKELY(out.defined())) return out;
  return pass<Op>(keys, tensor, dim, half_to_float);
}

}  // namespace

std::vector<std::string> register_kernels(torch::Library& mode) {
  using c10::Scalar;
  std::vector<std::string> names;
  const auto add = [&](const char* name, auto* kernel) {
    mode.impl(name, kernel);
    names.emplace_back(name);
  };
  add("pow.Tensor_Scalar", &power);
  add("copy_", &copy_into);
  add("where.self", &select<at::_ops::where_self, Tensor, Tensor>);
  add("where.ScalarSelf", &select<at::_ops::where_ScalarSelf, Scalar, Tensor>);
  add("where.ScalarOther",
      &select<at::_ops::where_ScalarOther, Tensor, Scalar>);
  add("where.Scalar", &select<at::_ops::where_Scalar, Scalar, Scalar>);
  // NOLINTBEGIN(bugprone-macro-parentheses): a template's name
#define GPUOS_REGISTER_ROWS(name, op, form) \
  add(name, &form<at::_ops::op, named_row(name)>);
  GPUOS_ROW_KERNELS(GPUOS_REGISTER_ROWS)
#undef GPUOS_REGISTER_ROWS
#define GPUOS_REGISTER_KERNEL(name, op, form) \
  add(name, &form<at::_ops::op, named(name).function, named(name).rule>);
  GPUOS_KERNELS(GPUOS_REGISTER_KERNEL)
#undef GPUOS_REGISTER_KERNEL
  // NOLINTEND(bugprone-macro-parentheses)
  return names;
}

}  // namespace gpuos::bridge
