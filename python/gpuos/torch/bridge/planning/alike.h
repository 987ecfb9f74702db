// Simple tensors, and tensors that are alike, which the planner asks for first.
#pragma once

#include "flush/options.h"
#include "memory/sharing.h"
#include "planning/operands.h"

namespace gpuos::bridge {

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
inline constinit thread_local Kind kind GPUOS_NEAR_TLS;

[[gnu::always_inline]] inline bool is_of_kind(const Tensor& tensor) {
  return Fields::kind_of(tensor) == kind.fields &&
         kernel_keys_of(tensor) == kind.keys;
}

/// Looks closer and notes the kind.
[[gnu::noinline]] inline bool is_of_simple_kind(const Tensor& tensor) {
  if (!is_usual_tensor(tensor) || !at::isFloatingType(tensor.scalar_type()) ||
      !tensor.is_contiguous() || Fields::has_own_sizes(tensor))
    return false;
  const at::ScalarType type = tensor.scalar_type();
  const DType dtype = *dtype_of(type);
  kind = {Fields::kind_of(tensor), kernel_keys_of(tensor), dtype,
          *dtype_of(opmath_of(type)),
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
[[gnu::noinline]] inline bool is_nearly_of_kind(const Tensor& simple,
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

/// Returns the same as address_of() for a tensor of the kind.
inline void* start_of(const Tensor& tensor, const Kind& of) {
  return static_cast<char*>(
             storage_of(tensor)->_mutable_data_ptr_no_checks().get()) +
         Fields::offset_of(tensor) * of.item_bytes;
}

}  // namespace gpuos::bridge
