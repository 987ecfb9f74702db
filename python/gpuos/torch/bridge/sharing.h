// Memory that somebody else may read or write beside PyTorch: NumPy, who owns a
// buffer, who took a tensor by DLPack, another mapping of a file.
#pragma once

#include <c10/core/StorageImpl.h>

#include <atomic>
#include <cstdint>

#include "memory.h"
#include "slabs.h"

namespace gpuos::bridge {

/// Arrays of others that now lie in the memory of tensors.
extern std::atomic<std::uint32_t> lent_arrays;
/// Of blocks of PyTorch's allocator.
extern std::atomic<c10::DeleterFnPtr> cpu_deleter;

/// is_shared() of what is no usual block, or may be lent.
bool is_shared_at_closer_look(c10::StorageImpl& storage);

/// Whether somebody else may read or write it while Python goes on.
[[gnu::always_inline]] inline bool is_shared(const Tensor& tensor) {
  c10::StorageImpl& storage = *storage_of(tensor);
  const c10::DataPtr& data = storage._mutable_data_ptr_no_checks();
  const bool is_block =
      Slabs::is_slot(data) ||
      data.get_deleter() == cpu_deleter.load(std::memory_order_relaxed);
  // What NumPy has seen is not resizable from then on.
  return !C10_LIKELY(is_block && storage.resizable() &&
                     lent_arrays.load(std::memory_order_relaxed) == 0) &&
         is_shared_at_closer_look(storage);
}

/// Notes what is lent from now on. Once, under the GIL. Throws: python_error.
void watch_sharing();

}  // namespace gpuos::bridge
