// The owner of a storage's memory.
#pragma once

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

}  // namespace gpuos::bridge
