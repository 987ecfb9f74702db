#include "alike.h"

#include <c10/core/DefaultDtype.h>

#include "outputs.h"
#include "parts.h"

namespace gpuos::bridge {
namespace {

bool is_simple(const Tensor& tensor) {
  return is_plain_tensor(tensor) && at::isFloatingType(tensor.scalar_type()) &&
         tensor.is_contiguous() && tensor.numel() > 0 &&
         tensor.numel() <= size_threshold();
}

/// Whether `b` has the shape of contiguous `a` and is contiguous too.
bool have_same_layout(const Tensor& a, const Tensor& b) {
  const at::IntArrayRef sizes = a.sizes();
  const at::IntArrayRef others = b.sizes();
  if (sizes.size() != others.size()) return false;
  const at::IntArrayRef strides = a.strides();
  const at::IntArrayRef other_strides = b.strides();
  bool have_same_strides = true;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] != others[d]) return false;
    have_same_strides &= strides[d] == other_strides[d];
  }
  // Strides of dimensions of size 1 are anything.
  return C10_LIKELY(have_same_strides) || b.is_contiguous();
}

/// Whether `tensor` is what the simple one is, but for its values.
bool is_like(const Tensor& simple, const Tensor& tensor) {
  return kernel_keys_of(tensor) == kernel_keys_of(simple) &&
         has_plain_memory(tensor) && tensor.dtype() == simple.dtype() &&
         have_same_layout(simple, tensor) && tensor.device() == simple.device();
}

bool are_alike(const Tensor& a, const Tensor& b) {
  return is_simple(a) && (&a == &b || is_like(a, b));
}

bool gives_bool(Rule rule) {
  return rule == Rule::Comparison || rule == Rule::Test ||
         rule == Rule::Logical;
}

/// Returns the dtype of the operands, which have `type`.
DType put_types(Request& request, const Elementwise& what,
                at::ScalarType type) {
  const DType dtype = *dtype_of(type);
  request.recipe = what.recipe;
  request.compute = is_half(type) ? DType::Float32 : dtype;
  request.out_dtype = gives_bool(what.rule) ? DType::Bool : dtype;
  return dtype;
}

/// Appends a request of tensors that are alike; `other` may be undefined.
void add_alike(const Elementwise& what, const Tensor& tensor,
               const Tensor& other, const Tensor& out, bool is_fresh,
               const Place& place, PyObject* const* objects = nullptr) {
  Needs needs;
  needs.objects = objects;
  needs.add(tensor);
  if (other.defined()) needs.add(other);
  needs.add_out(out);
  pending.add(needs, place, [&](Request& request) {
    const DType dtype = put_types(request, what, tensor.scalar_type());
    request.operands = other.defined() ? 2 : 1;
    put_tensor(request, 0, tensor, dtype);
    if (other.defined()) put_tensor(request, 1, other, dtype);
    put_out(request, out, is_fresh);
  });
}

/// The same of a tensor and a number, which is operand `number_at`.
void add_alike(const Elementwise& what, const Tensor& tensor, double number,
               std::size_t number_at, const Tensor& out, bool is_fresh,
               const Place& place) {
  Needs needs;
  needs.add(tensor);
  needs.add_out(out);
  pending.add(needs, place, [&](Request& request) {
    const at::ScalarType type = tensor.scalar_type();
    const DType dtype = put_types(request, what, type);
    request.operands = 2;
    put_number(request, number_at, number, what.rule, type);
    put_tensor(request, 1 - number_at, tensor, dtype);
    put_out(request, out, is_fresh);
  });
}

Tensor make_alike(const Elementwise& what, const Tensor& tensor,
                  const Place& place) {
  return make_output(tensor.sizes(), {},
                     gives_bool(what.rule) ? at::kBool : tensor.scalar_type(),
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
  const auto* p = static_cast<const char*>(address_of(a));
  const auto* q = static_cast<const char*>(address_of(b));
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
  add_alike(what, tensor, other, out, /*is_fresh=*/true, place);
  return out;
}

Tensor defer_alike(const Elementwise& what, const Tensor& tensor, double number,
                   bool is_number_first) {
  if (what.rule == Rule::Bitwise || !is_simple(tensor)) return {};
  const Place& place = current_place(tensor.device());
  Tensor out = make_alike(what, tensor, place);
  add_alike(what, tensor, number, is_number_first ? 0 : 1, out,
            /*is_fresh=*/true, place);
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
  Needs needs;
  needs.add(condition);
  for (const Operand* one : pair)
    if (!one->is_number()) needs.add(*one->tensor);
  needs.add_out(out);
  pending.add(needs, place, [&](Request& request) {
    const DType dtype =
        put_types(request, {Recipe::Where, Rule::Select}, *type);
    request.operands = 3;
    put_tensor(request, 0, condition, DType::Bool);
    for (std::size_t i = 0; i < 2; ++i) {
      if (pair[i]->is_number())
        put_number(request, 1 + i, pair[i]->number, Rule::Select, *type);
      else
        put_tensor(request, 1 + i, *pair[i]->tensor, dtype);
    }
    put_out(request, out, /*is_fresh=*/true);
  });
  return out;
}

bool defer_alike_out(const Elementwise& what, const Tensor& tensor,
                     const Tensor& other, const Tensor& out,
                     PyObject* const* objects) {
  if (gives_bool(what.rule) || !are_alike(out, tensor) ||
      !is_same_or_apart(out, tensor))
    return false;
  if (other.defined() &&
      (!is_like(out, other) || !is_same_or_apart(out, other)))
    return false;
  add_alike(what, tensor, other, out, /*is_fresh=*/false,
            current_place(out.device()), objects);
  return true;
}

bool defer_alike_into(const Elementwise& what, const Tensor& out,
                      const Tensor& other) {
  if (!are_alike(out, other) || !is_same_or_apart(out, other)) return false;
  add_alike(what, out, other, out, /*is_fresh=*/false,
            current_place(out.device()));
  return true;
}

bool defer_alike_into(const Elementwise& what, const Tensor& out,
                      double number) {
  if (!is_simple(out)) return false;
  add_alike(what, out, number, 1, out, /*is_fresh=*/false,
            current_place(out.device()));
  return true;
}

}  // namespace gpuos::bridge
