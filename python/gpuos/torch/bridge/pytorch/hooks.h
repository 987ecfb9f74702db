// Hooks that notice accesses to a storage's memory without an operator.
#pragma once

#include <c10/core/StorageImpl.h>
#include <cstddef>

#include "pytorch/memory.h"
#include "pytorch/private_parts.h"

#if !GPUOS_HAS_MATERIALIZER
#include <c10/core/impl/COWDeleter.h>
#endif

namespace gpuos::bridge {

/// Runs the pending requests. PyTorch calls it before it returns a pointer.
void on_access(c10::StorageImpl* storage);

/// Returns whether only `uses` references, which the caller knows, lead to
/// `storage`.
inline bool is_held_by(c10::StorageImpl* storage, std::size_t uses) {
  auto borrowed = c10::intrusive_ptr<c10::StorageImpl>::reclaim(storage);
  const bool is_alone =
      borrowed.use_count() <= uses && borrowed.weak_use_count() <= 1;
  borrowed.release();
  return is_alone;
}

#if GPUOS_HAS_MATERIALIZER
inline void watch(c10::StorageImpl* storage) {
  if (!storage->has_materializer()) storage->set_materializer(&on_access);
}
inline void unwatch(c10::StorageImpl* storage) {
  if (hook_of(storage) == &on_access) storage->clear_materializer();
}
/// Returns whether pending requests may read or write the storage.
inline bool may_be_used(c10::StorageImpl* storage) {
  return storage->has_materializer();
}
/// Returns whether other code waits for the first access, as copy on write
/// does.
inline bool is_watched_by_others(c10::StorageImpl* storage) {
  // Read once: the timer's thread may take ours away meanwhile.
  const auto hook = hook_of(storage);
  return hook != nullptr && hook != &on_access;
}
#else
inline void watch(c10::StorageImpl*) {}
inline void unwatch(c10::StorageImpl*) {}
inline bool may_be_used(c10::StorageImpl*) { return true; }
inline bool is_watched_by_others(c10::StorageImpl* storage) {
  return storage->_mutable_data_ptr_no_checks().get_deleter() ==
         &c10::impl::cow::cow_deleter;
}
#endif

/// Prefetches the storages of a call, all before the first one is read. Each is
/// in other cache lines than its tensor. `is_counted`: also prefetches its
/// size.
inline void fetch_storage(const Tensor& tensor, bool is_counted) noexcept {
  constexpr std::size_t kToMemory =
      sizeof(c10::intrusive_ptr_target) + sizeof(c10::DataPtr);
  prefetch(storage_of(tensor), is_counted || GPUOS_HAS_MATERIALIZER
                                   ? sizeof(c10::StorageImpl)
                                   : kToMemory);
}

}  // namespace gpuos::bridge
