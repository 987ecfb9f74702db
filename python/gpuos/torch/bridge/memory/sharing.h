// Memory that other code may read or write apart from PyTorch: NumPy, the owner
// of a buffer, a DLPack consumer, another mapping of a file.
#pragma once

#include <c10/core/StorageImpl.h>

#include <atomic>
#include <cstdint>

#include "pytorch/memory.h"

namespace gpuos::bridge {

/// DLPack's capsules that currently use the memory of tensors.
extern std::atomic<std::uint32_t> lent_capsules;

/// is_shared() for storages that cannot be resized or may be lent.
bool is_shared_at_closer_look(c10::StorageImpl& storage);

/// Returns whether other code may read or write it while Python runs.
[[gnu::always_inline]] inline bool is_shared(const Tensor& tensor) {
  // Foreign memory, and memory that NumPy has seen, is not resizable.
  c10::StorageImpl& storage = *storage_of(tensor);
  return C10_UNLIKELY(!storage.resizable() ||
                      lent_capsules.load(std::memory_order_relaxed) != 0) &&
         is_shared_at_closer_look(storage);
}

/// Records memory that is lent from now on. To be called once, under the GIL.
/// Throws: python_error.
void watch_sharing();

}  // namespace gpuos::bridge
