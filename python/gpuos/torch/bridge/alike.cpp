#include "alike.h"

#include <c10/core/DefaultDtype.h>

#include "outputs.h"
#include "parts.h"

namespace gpuos::bridge {
namespace {

bool is_simple(const Tensor& tensor) {
  const auto type = tensor.scalar_type();
  return is_plain_tensor(tensor) &&
         (type == at::kFloat || type == at::kDouble || is_half(type)) &&
         tensor.is_contiguous() && tensor.numel() > 0 &&
         tensor.numel() <= size_threshold();
}

bool are_alike(const Tensor& a, const Tensor& b) {
  return is_simple(a) &&
         (&a == &b ||
          (is_plain_tensor(b) && b.scalar_type() == a.scalar_type() &&
           b.is_contiguous() && b.sizes() == a.sizes() &&
           b.device() == a.device()));
}

bool gives_bool(Rule rule) {
  return rule == Rule::Comparison || rule == Rule::Test ||
         rule == Rule::Logical;
}

void put_types(Request& request, const Elementwise& what, at::ScalarType type) {
  request.recipe = what.recipe;
  request.compute = *dtype_of(opmath_of(type));
  request.out_dtype = gives_bool(what.rule) ? DType::Bool : *dtype_of(type);
}

Deferred alike(const Elementwise& what, const Tensor& tensor,
               const Tensor& other, const Tensor& out, bool is_fresh) {
  Deferred deferred;
  put_types(deferred.request, what, tensor.scalar_type());
  put_tensor(deferred, 0, tensor);
  deferred.request.operands = 1;
  if (other.defined()) {
    put_tensor(deferred, 1, other);
    deferred.request.operands = 2;
  }
  put_out(deferred, out, is_fresh);
  return deferred;
}

Deferred alike(const Elementwise& what, const Tensor& tensor, double number,
               std::size_t number_at, const Tensor& out, bool is_fresh) {
  Deferred deferred;
  put_types(deferred.request, what, tensor.scalar_type());
  deferred.request.operands = 2;
  put_number(deferred.request, number_at, number, what.rule,
             tensor.scalar_type());
  put_tensor(deferred, 1 - number_at, tensor);
  put_out(deferred, out, is_fresh);
  return deferred;
}

Tensor make_alike(const Elementwise& what, const Tensor& tensor,
                  const Place& place) {
  Request request;
  put_types(request, what, tensor.scalar_type());
  return make_output(tensor.sizes(), {}, scalar_type_of(request.out_dtype),
                     place);
}

/// The dtype of where(condition, a, b), if it is a floating one and plain to
/// see.
std::optional<at::ScalarType> type_of_pair(const Operand& a, const Operand& b) {
  const auto is_real = [](const c10::Scalar& number) {
    return !number.isComplex() && !number.isBoolean();
  };
  if (a.is_number() && b.is_number()) {
    const bool is_floating =
        a.number.isFloatingPoint() || b.number.isFloatingPoint();
    if (!is_floating || !is_real(a.number) || !is_real(b.number)) return {};
    return c10::get_default_dtype_as_scalartype();
  }
  if (a.is_number()) return type_of_pair(b, a);
  const at::ScalarType type = a.tensor->scalar_type();
  if (!at::isFloatingType(type) ||
      (b.is_number() ? !is_real(b.number) : b.tensor->scalar_type() != type))
    return {};
  return type;
}

/// Whether `b` may be read while contiguous `a` is written.
bool is_same_or_apart(const Tensor& a, const Tensor& b) {
  if (storage_of(a) != storage_of(b)) return true;
  const auto* p = static_cast<const char*>(address_of(a.unsafeGetTensorImpl()));
  const auto* q = static_cast<const char*>(address_of(b.unsafeGetTensorImpl()));
  const auto bytes = static_cast<std::ptrdiff_t>(a.nbytes());
  if (p == q) return a.strides() == b.strides();  // PyTorch compares them too
  return p + bytes <= q || q + bytes <= p;
}

}  // namespace

Tensor defer_alike(const Elementwise& what, const Tensor& tensor,
                   const Tensor& other) {
  // Of floating tensors PyTorch refuses it.
  if (what.rule == Rule::Bitwise) return {};
  if (other.defined() ? !are_alike(tensor, other) : !is_simple(tensor))
    return {};
  const Place& place = current_place(tensor.device());
  Tensor out = make_alike(what, tensor, place);
  pending.add(alike(what, tensor, other, out, /*is_fresh=*/true), place);
  return out;
}

Tensor defer_alike(const Elementwise& what, const Tensor& tensor, double number,
                   bool is_number_first) {
  if (what.rule == Rule::Bitwise || !is_simple(tensor)) return {};
  const Place& place = current_place(tensor.device());
  Tensor out = make_alike(what, tensor, place);
  pending.add(alike(what, tensor, number, is_number_first ? 0 : 1, out,
                    /*is_fresh=*/true),
              place);
  return out;
}

Tensor defer_alike_where(const Tensor& condition, const Operand& a,
                         const Operand& b) {
  if (!is_plain_tensor(condition) || condition.scalar_type() != at::kBool ||
      !condition.is_contiguous() || condition.numel() == 0 ||
      condition.numel() > size_threshold())
    return {};
  const auto type = type_of_pair(a, b);
  if (!type) return {};
  const Operand* const pair[] = {&a, &b};
  for (const Operand* one : pair) {
    if (one->is_number()) continue;
    const Tensor& tensor = *one->tensor;
    if (!is_simple(tensor) || tensor.sizes() != condition.sizes() ||
        tensor.device() != condition.device())
      return {};
  }
  const Place& place = current_place(condition.device());
  Tensor out = make_output(condition.sizes(), {}, *type, place);
  Deferred deferred;
  Request& request = deferred.request;
  put_types(request, {Recipe::Where, Rule::Select}, *type);
  request.operands = 3;
  put_tensor(deferred, 0, condition);
  for (std::size_t i = 0; i < 2; ++i) {
    if (pair[i]->is_number())
      put_number(request, 1 + i, pair[i]->number, Rule::Select, *type);
    else
      put_tensor(deferred, 1 + i, *pair[i]->tensor);
  }
  put_out(deferred, out, /*is_fresh=*/true);
  pending.add(deferred, place);
  return out;
}

bool defer_alike_out(const Elementwise& what, const Tensor& tensor,
                     const Tensor& other, const Tensor& out) {
  if (gives_bool(what.rule) || !are_alike(out, tensor) ||
      !is_same_or_apart(out, tensor))
    return false;
  if (other.defined() &&
      (!are_alike(out, other) || !is_same_or_apart(out, other)))
    return false;
  pending.add(alike(what, tensor, other, out, /*is_fresh=*/false),
              current_place(out.device()));
  return true;
}

bool defer_alike_into(const Elementwise& what, const Tensor& out,
                      const Tensor& other) {
  if (!are_alike(out, other) || !is_same_or_apart(out, other)) return false;
  pending.add(alike(what, out, other, out, /*is_fresh=*/false),
              current_place(out.device()));
  return true;
}

bool defer_alike_into(const Elementwise& what, const Tensor& out,
                      double number) {
  if (!is_simple(out)) return false;
  pending.add(alike(what, out, number, 1, out, /*is_fresh=*/false),
              current_place(out.device()));
  return true;
}

}  // namespace gpuos::bridge
