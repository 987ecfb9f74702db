// The owner of a storage's memory.
#pragma once

#include "memory.h"
#include "sites.h"
#include "slabs.h"

namespace gpuos::bridge {

/// Returns whether no other code uses its memory: it is a block of PyTorch's
/// allocator or a part of one of ours.
inline bool has_own_block(c10::StorageImpl& storage, const Site& site) {
  const c10::DataPtr& data = storage._mutable_data_ptr_no_checks();
  const c10::DeleterFnPtr deleter = data.get_deleter();
  return Slabs::is_slot(data) ||
         (deleter != nullptr && deleter == site.deleter);
}

}  // namespace gpuos::bridge
