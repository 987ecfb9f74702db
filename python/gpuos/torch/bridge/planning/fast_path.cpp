#include "planning/fast_path.h"

#include <c10/core/DefaultDtype.h>

#include "flush/costs.h"
#include "memory/outputs.h"
#include "memory/sharing.h"
#include "planning/parts.h"
#include "pytorch/private_parts.h"

namespace gpuos::bridge {
namespace {

/// The properties of a simple tensor, except its shape and its memory.
struct Kind {
  std::uint64_t fields = 0;  // see Fields
  // Kernels alone; at first some that no tensor has.
  DispatchKeySet keys = kPendingKeys;
  DType dtype{};
  DType compute{};
  std::uint8_t item_bytes = 0;
};

/// The kind of the last tensor that is_simple() accepted. Later users copy it,
/// because a query of a site or a result may run other operators.
constinit thread_local Kind kind GPUOS_NEAR_TLS;

[[gnu::always_inline]] inline bool is_of_kind(const Tensor& tensor) {
  return Fields::kind_of(tensor) == kind.fields &&
         kernel_keys_of(tensor) == kind.keys;
}

/// Looks closer and notes the kind.
[[gnu::noinline]] bool is_of_simple_kind(const Tensor& tensor) {
  if (!is_usual_tensor(tensor) || !at::isFloatingType(tensor.scalar_type()) ||
      !tensor.is_contiguous() || Fields::has_own_sizes(tensor))
    return false;
  const at::ScalarType type = tensor.scalar_type();
  const DType dtype = *dtype_of(type);
  kind = {Fields::kind_of(tensor), kernel_keys_of(tensor), dtype,
          is_half(type) ? DType::Float32 : dtype,
          static_cast<std::uint8_t>(c10::elementSize(type))};
  return true;
}

/// Returns the same as is_aligned() for a tensor whose elements have the kind's
/// size. A view begins a whole number of elements after its storage.
[[gnu::always_inline]] inline bool is_at_place(const Tensor& tensor) {
  const auto start = reinterpret_cast<std::uintptr_t>(
      storage_of(tensor)->_mutable_data_ptr_no_checks().get());
  return C10_LIKELY((start & (kind.item_bytes - 1u)) == 0);
}

/// Contiguous, of a floating dtype, and not too large.
[[gnu::always_inline]] inline bool is_simple(const Tensor& tensor) {
  if (C10_UNLIKELY(!is_of_kind(tensor)) && !is_of_simple_kind(tensor))
    return false;
  const auto elems = static_cast<std::uint64_t>(Fields::numel_of(tensor));
  return elems - 1 < static_cast<std::uint64_t>(size_threshold()) &&
         Fields::layout_of(tensor).size() <= kMaxDims && has_memory(tensor) &&
         !is_shared(tensor) && is_at_place(tensor);
}

/// Compares with a tensor of another kind. Irrelevant flags may differ.
[[gnu::noinline]] bool is_nearly_of_kind(const Tensor& simple,
                                         const Tensor& tensor) {
  return kernel_keys_of(tensor) == kind.keys &&
         tensor.dtype() == simple.dtype() &&
         tensor.device() == simple.device() && tensor.is_contiguous() &&
         !Fields::has_own_sizes(tensor) && is_usual_tensor(tensor);
}

/// Returns whether `tensor` equals the simple one in all but its values. The
/// simple one is the last argument of is_simple().
[[gnu::always_inline]] inline bool is_like(const Tensor& simple,
                                           const Tensor& tensor) {
  if (C10_UNLIKELY(!is_of_kind(tensor)) && !is_nearly_of_kind(simple, tensor))
    return false;
  const auto& layout = Fields::layout_of(simple);
  const auto& other = Fields::layout_of(tensor);
  if (layout.size() != other.size() || !has_memory(tensor) ||
      is_shared(tensor) || !is_at_place(tensor))
    return false;
  // Both are contiguous: strides differ where the size is 1 alone.
  for (std::size_t d = 0; d < layout.size(); ++d)
    if (layout.size_at_unchecked(d) != other.size_at_unchecked(d)) return false;
  return true;
}

/// Returns whether its strides are those of C order even where the size is 1.
/// In an operation with a number, PyTorch distinguishes these.
[[gnu::always_inline]] inline bool has_usual_strides(const Tensor& contiguous) {
  const auto& layout = Fields::layout_of(contiguous);
  std::int64_t step = 1;
  for (std::size_t d = layout.size(); d-- > 0;) {
    if (layout.stride_at_unchecked(d) != step) return false;
    step *= layout.size_at_unchecked(d);
  }
  return true;
}

bool have_same_layout(const Tensor& a, const Tensor& b) {
  return is_simple(a) && (&a == &b || is_like(a, b));
}

[[gnu::noinline]] bool is_costly_here(const Elementwise& what,
                                      const Tensor& tensor) {
  return is_too_costly({what.recipe, tensor.scalar_type(), tensor.numel(),
                        tensor.is_cpu(), is_marked(tensor)});
}

/// defer() looks closer, and says so.
[[gnu::always_inline]] inline bool is_costly(const Elementwise& what,
                                             const Tensor& tensor) {
  return C10_UNLIKELY(Fields::numel_of(tensor) >
                      max_profitable_elems(what.recipe)) &&
         is_costly_here(what, tensor);
}

bool gives_bool(Rule rule) {
  return rule == Rule::Comparison || rule == Rule::Test ||
         rule == Rule::Logical;
}

/// plan() looks closer: these are refused, or are for some of the dtypes.
bool needs_plan(const Elementwise& what) {
  return what.rule == Rule::Bitwise || what.recipe == Recipe::FloorDivide ||
         what.recipe == Recipe::DivTrunc;
}

[[gnu::noinline]] Tensor plan_instead(const Elementwise& what,
                                      const Operand& one) {
  return defer_planned(what, {&one, 1});
}
[[gnu::noinline]] Tensor plan_instead(const Elementwise& what,
                                      const Operand& one,
                                      const Operand& other) {
  const Operand operands[] = {one, other};
  return defer_planned(what, operands);
}

void put_types(Request& request, const Elementwise& what, const Kind& of) {
  request.function = function_of(what.recipe);
  request.compute = of.compute;
  request.out_dtype = gives_bool(what.rule) ? DType::Bool : of.dtype;
}

/// Returns the same as address_of() for a tensor of the kind.
void* start_of(const Tensor& tensor, const Kind& of) {
  return static_cast<char*>(
             storage_of(tensor)->_mutable_data_ptr_no_checks().get()) +
         Fields::offset_of(tensor) * of.item_bytes;
}

void put(Request& request, std::size_t i, const Tensor& tensor,
         const Kind& of) {
  request.values[i] = reinterpret_cast<std::uint64_t>(start_of(tensor, of));
  request.dtypes[i] = of.dtype;
  request.owners[i] = storage_of(tensor);
}

void put_result(Request& request, const Tensor& out, bool is_fresh,
                const Kind& of) {
  request.is_fresh = is_fresh;
  // A new one may be of another dtype, and begins where its memory does.
  request.out = start_of(out, of);
  request.out_owner = storage_of(out);
  request.elems = static_cast<std::uint64_t>(Fields::numel_of(out));
}

/// Appends a request of tensors of one kind and layout. `other` may be
/// undefined.
[[gnu::always_inline]] inline void add_alike(
    const Elementwise& what, const Kind& of, const Tensor& tensor,
    const Tensor& other, const Tensor& out, bool is_fresh, const Site& site,
    PyObject* const* objects = nullptr) {
  const bool is_binary = other.defined();
  Needs needs;
  needs.objects = objects;
  needs.add(tensor);
  if (is_binary) needs.add(other);
  needs.add_out(out);
  pending.add(needs, site, [&](Request& request) {
    put_types(request, what, of);
    request.operands = is_binary ? 2 : 1;
    put(request, 0, tensor, of);
    if (is_binary) put(request, 1, other, of);
    put_result(request, out, is_fresh, of);
  });
}

/// Overload for a tensor and a number, which is operand `number_at`.
void add_alike(const Elementwise& what, const Kind& of, const Tensor& tensor,
               double number, std::size_t number_at, const Tensor& out,
               bool is_fresh, const Site& site) {
  Needs needs;
  needs.add(tensor);
  needs.add_out(out);
  pending.add(needs, site, [&](Request& request) {
    put_types(request, what, of);
    request.operands = 2;
    put_number(request, number_at, number, what, tensor.scalar_type(),
               site.is_cpu());
    put(request, 1 - number_at, tensor, of);
    put_result(request, out, is_fresh, of);
  });
}

/// A result of the shape of `tensor`, which is of some kind.
Tensor make_alike(const Elementwise& what, const Tensor& tensor,
                  const Site& site) {
  const auto& layout = Fields::layout_of(tensor);
  return make_contiguous_output(
      at::IntArrayRef(layout.sizes_data(), layout.size()),
      static_cast<std::size_t>(Fields::numel_of(tensor)),
      gives_bool(what.rule) ? at::kBool : tensor.scalar_type(), site);
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

/// Returns whether `b` may be read while `a` is written, both contiguous and of
/// one size.
[[gnu::noinline]] bool is_same_or_beside(const Tensor& a, const Tensor& b,
                                         const Kind& of) {
  const auto p = reinterpret_cast<std::uintptr_t>(start_of(a, of));
  const auto q = reinterpret_cast<std::uintptr_t>(start_of(b, of));
  const std::uintptr_t bytes =
      static_cast<std::uintptr_t>(Fields::numel_of(a)) * of.item_bytes;
  // Nearer to each other than they are long, on either side.
  if (q - p + bytes - 1 >= 2 * bytes - 1) return true;
  return p == q && a.strides() == b.strides();  // PyTorch compares them too
}
/// Returns the same as is_same_or_beside(). It compares addresses unless `a`
/// has a separate block. Otherwise two storages may share memory, as those of
/// two views of a NumPy array do.
bool is_same_or_disjoint(const Tensor& a, bool has_own_block, const Tensor& b,
                         const Kind& of) {
  return C10_LIKELY(has_own_block && storage_of(a) != storage_of(b)) ||
         is_same_or_beside(a, b, of);
}

}  // namespace

Tensor defer(const Elementwise& what, const Tensor& tensor) {
  if (needs_plan(what) || !is_simple(tensor) || is_costly(what, tensor))
    return plan_instead(what, {.tensor = &tensor});
  const Kind of = kind;
  const Site& site = current_site(tensor.device());
  Tensor out = make_alike(what, tensor, site);
  add_alike(what, of, tensor, Tensor(), out, /*is_fresh=*/true, site);
  return out;
}

Tensor defer(const Elementwise& what, const Tensor& tensor,
             const Tensor& other) {
  if (needs_plan(what) || !have_same_layout(tensor, other) ||
      is_costly(what, tensor))
    return plan_instead(what, {.tensor = &tensor}, {.tensor = &other});
  const Kind of = kind;
  const Site& site = current_site(tensor.device());
  Tensor out = make_alike(what, tensor, site);
  add_alike(what, of, tensor, other, out, /*is_fresh=*/true, site);
  return out;
}

Tensor defer(const Elementwise& what, const Tensor& tensor, double number,
             bool is_number_first) {
  if (needs_plan(what) || !is_simple(tensor) || !has_usual_strides(tensor) ||
      is_costly(what, tensor)) {
    const Operand operands[] = {{.tensor = &tensor}, {.number = number}};
    return plan_instead(what, operands[is_number_first ? 1 : 0],
                        operands[is_number_first ? 0 : 1]);
  }
  const Kind of = kind;
  const Site& site = current_site(tensor.device());
  Tensor out = make_alike(what, tensor, site);
  add_alike(what, of, tensor, number, is_number_first ? 0 : 1, out,
            /*is_fresh=*/true, site);
  return out;
}

Tensor defer_fast_where(const Tensor& condition, const Operand& a,
                        const Operand& b) {
  if (!is_usual_tensor(condition) || is_shared(condition) ||
      condition.scalar_type() != at::kBool || !condition.is_contiguous() ||
      condition.numel() == 0 || condition.numel() > size_threshold())
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
  for (const Operand* one : pair)
    if (one->is_number() && !fits(one->number, *type)) return {};
  if (a.is_number() || b.is_number())
    for (const Tensor* tensor : {&condition, a.tensor, b.tensor})
      if (tensor != nullptr && !has_usual_strides(*tensor)) return {};
  const Site& site = current_site(condition.device());
  Tensor out = make_contiguous_output(
      condition.sizes(), static_cast<std::size_t>(condition.numel()), *type,
      site);
  Needs needs;
  needs.add(condition);
  for (const Operand* one : pair)
    if (!one->is_number()) needs.add(*one->tensor);
  needs.add_out(out);
  pending.add(needs, site, [&](Request& request) {
    const DType dtype = *dtype_of(*type);
    request.function = function_of(Recipe::Where);
    request.compute = is_half(*type) ? DType::Float32 : dtype;
    request.out_dtype = dtype;
    request.operands = 3;
    put_tensor(request, 0, condition, DType::Bool);
    for (std::size_t i = 0; i < 2; ++i) {
      if (pair[i]->is_number())
        put_number(request, 1 + i, pair[i]->number,
                   {Recipe::Where, Rule::Select}, *type, site.is_cpu());
      else
        put_tensor(request, 1 + i, *pair[i]->tensor, dtype);
    }
    put_out(request, out, /*is_fresh=*/true);
  });
  return out;
}

bool defer_fast_out(const Elementwise& what, const Tensor& tensor,
                    const Tensor& other, const Tensor& out,
                    PyObject* const* objects) {
  if (gives_bool(what.rule) || needs_plan(what) ||
      !have_same_layout(out, tensor) || is_costly(what, tensor))
    return false;
  const Kind of = kind;
  if (other.defined() && !is_like(out, other)) return false;
  const Site& site = current_site(out.device());
  const bool is_own = has_own_block(*storage_of(out), site);
  if (!is_same_or_disjoint(out, is_own, tensor, of)) return false;
  if (other.defined() && !is_same_or_disjoint(out, is_own, other, of))
    return false;
  add_alike(what, of, tensor, other, out, /*is_fresh=*/false, site, objects);
  return true;
}

bool defer_fast_into(const Elementwise& what, const Tensor& out,
                     const Tensor& other) {
  if (!have_same_layout(out, other)) return false;
  const Kind of = kind;
  const Site& site = current_site(out.device());
  const bool is_own = has_own_block(*storage_of(out), site);
  if (!is_same_or_disjoint(out, is_own, other, of)) return false;
  add_alike(what, of, out, other, out, /*is_fresh=*/false, site);
  return true;
}

bool defer_fast_into(const Elementwise& what, const Tensor& out,
                     double number) {
  if (!is_simple(out)) return false;
  const Kind of = kind;
  const Site& site = current_site(out.device());
  add_alike(what, of, out, number, 1, out, /*is_fresh=*/false, site);
  return true;
}

}  // namespace gpuos::bridge
