// Operands of an operation, their common shape, and views for requests.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Scalar.h>
#include <c10/util/SmallVector.h>

#include <optional>
#include <span>

#include "gpuos/requests.h"
#include "planning/types.h"
#include "pytorch/hooks.h"
#include "pytorch/keys.h"
#include "pytorch/memory.h"

namespace gpuos::bridge {

/// A tensor, or a number.
struct TorchOperand {
  const Tensor* tensor = nullptr;
  c10::Scalar number{};

  bool is_number() const noexcept { return tensor == nullptr; }
};

/// Returns whether PyTorch's type of it is bool.
bool is_bool(const TorchOperand& operand);

/// Returns the number of a 0-d tensor that PyTorch made of one, or null for any
/// other tensor.
std::optional<c10::Scalar> wrapped_number(const Tensor& tensor);

inline bool has_memory(const Tensor& tensor) {
  c10::StorageImpl* storage = storage_of(tensor);
  return storage != nullptr && !is_watched_by_others(storage);
}

/// Returns whether it is an ordinary tensor with strided memory of a device.
/// Lazy tensors and those of a subclass, a mode or a transform have other keys.
inline bool is_usual_tensor(const Tensor& tensor) {
  if (!tensor.defined()) return false;
  return has_usual_keys(tensor) && has_memory(tensor) &&
         !tensor.unsafeGetTensorImpl()->is_wrapped_number() &&
         tensor.dim() <= kMaxDims && dtype_of(tensor.scalar_type()).has_value();
}

using Dims = c10::SmallVector<std::int64_t, 8>;

/// The tensors among the operands of a call, broadcast to one shape.
struct Broadcast {
  Dims shape;
  /// The strides of each tensor, 0 for a repeated dimension.
  c10::SmallVector<Dims, kMaxRequestOperands> strides;
  bool are_contiguous = true;   // all have this shape, and are contiguous
  bool have_one_layout = true;  // all have this shape, and one dense layout
  bool are_channels_last = true;

  std::int64_t elems() const;
  /// Returns the number of runs in a walk over the shape, or 0 for one run.
  /// Within a run each operand has a constant stride.
  std::int64_t runs() const;
  /// Returns whether the tensors and `out` are the same elements in the same
  /// order of memory. `out` has this shape.
  bool is_flat(const Tensor& out) const;
  /// Returns the strides that PyTorch gives the result of an elementwise
  /// operation: the operands' order of dimensions, without gaps. An empty
  /// result means C order. `counts_numbers`: one operand is a number, which
  /// PyTorch makes a tensor without dimensions. Then dimensions are sorted even
  /// if all operands have one order.
  Dims output_strides(bool counts_numbers) const;
};

/// Broadcasts the operands to each other and to the shape that `all` has.
/// False: they do not fit.
bool broadcast(std::span<const TorchOperand> operands, Broadcast& all);

/// `strides` are in elements. Rank 0 to 8.
TensorView view_of(void* data, DType dtype, at::IntArrayRef shape,
                   at::IntArrayRef strides);

/// Returns whether the memory of the two may overlap. Their storages may
/// differ: two views of a NumPy array have one each. Both have elements.
bool may_share_memory(const Tensor& a, const Tensor& b);
/// Returns whether its elements are aligned as the processor or the GPU needs.
bool is_aligned(const Tensor& tensor);

/// Returns whether an elementwise operation may write `out` while it reads
/// `in`: not the same memory, or exactly the same elements.
bool may_write_beside(const Tensor& out, const Tensor& in);
/// Returns whether two elements of `tensor` may share memory. It is also true
/// for some unusual strides without overlap.
bool overlaps_itself(const Tensor& tensor);

}  // namespace gpuos::bridge
