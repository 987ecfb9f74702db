// Whose memory a storage's is.
#pragma once

#include <ATen/MapAllocator.h>

#include "memory.h"
#include "sites.h"
#include "slabs.h"

namespace gpuos::bridge {

/// Whether its memory is nobody else's: a block of PyTorch's allocator or a
/// part of one of ours.
inline bool has_own_block(c10::StorageImpl& storage, const Site& site) {
  const c10::DataPtr& data = storage._mutable_data_ptr_no_checks();
  const c10::DeleterFnPtr deleter = data.get_deleter();
  return Slabs::is_slot(data) ||
         (deleter != nullptr && deleter == site.deleter);
}

/// Whether a write may be seen at another address: a file's memory is where
/// each one mapped it. Addresses say nothing of that, so it is not deferred.
inline bool is_in_file(const Tensor& tensor, const Site& site) {
  c10::StorageImpl& storage = *storage_of(tensor);
  if (C10_LIKELY(has_own_block(storage, site))) return false;
  const auto* mapped =
      at::MapAllocator::fromDataPtr(storage._mutable_data_ptr_no_checks());
  // What PyTorch shares between processes it maps once in each.
  return mapped != nullptr &&
         (mapped->flags() & at::ALLOCATOR_MAPPED_SHARED) != 0 &&
         (mapped->flags() & at::ALLOCATOR_MAPPED_SHAREDMEM) == 0;
}

}  // namespace gpuos::bridge
