// Tensors for results.
#pragma once

#include <ATen/core/Tensor.h>

#include "memory/sites.h"
#include "memory/slabs.h"
#include "pytorch/memory.h"

namespace gpuos::bridge {

using at::Tensor;

/// A tensor of a site with memory and no values. `strides` empty: C order.
/// Throws: c10::Error if there is no memory.
Tensor make_output(at::IntArrayRef sizes, at::IntArrayRef strides,
                   at::ScalarType type, const Site& site);
/// Makes an output in C order, as most results are. `elems` is the product of
/// all sizes.
Tensor make_contiguous_output(at::IntArrayRef sizes, std::size_t elems,
                              at::ScalarType type, const Site& site);

/// Returns whether results come from slabs. Not during the capture of a graph,
/// whose memory is its own.
void use_slabs(bool use);
/// Frees unused memory of results, except `kept` bytes of each stream.
void trim_slabs(std::size_t kept);

/// Moves `storage` with its values into a separate block, for callers that need
/// an address of PyTorch's allocator.
void leave_slab(c10::StorageImpl* storage);

/// Has PyTorch's operators that look at how memory was allocated know slabs.
void register_slab_operators();

/// Returns whether no other code uses a storage's memory: it is a block of
/// PyTorch's allocator or a part of one of ours.
inline bool has_own_block(c10::StorageImpl& storage, const Site& site) {
  const c10::DataPtr& data = storage._mutable_data_ptr_no_checks();
  const c10::DeleterFnPtr deleter = data.get_deleter();
  return Slabs::is_slot(data) ||
         (deleter != nullptr && deleter == site.deleter);
}

}  // namespace gpuos::bridge
