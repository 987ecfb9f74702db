// What notices that somebody looks at a storage's memory without an operator.
#pragma once

#include <c10/core/StorageImpl.h>
#include <torch/version.h>

// PyTorch has had a hook for this since 2.13; before, Python's ways to a
// pointer are wrapped (access.py).
#define GPUOS_HAS_MATERIALIZER \
  (TORCH_VERSION_MAJOR * 100 + TORCH_VERSION_MINOR >= 213)

#if !GPUOS_HAS_MATERIALIZER
#include <c10/core/impl/COWDeleter.h>
#endif

namespace gpuos::bridge {

/// Runs what waits; PyTorch calls it before it hands out a pointer.
void on_access(c10::StorageImpl* storage);

/// Nobody but `uses` references, which the caller knows, leads to `storage`.
inline bool is_held_by(c10::StorageImpl* storage, std::size_t uses) {
  auto borrowed = c10::intrusive_ptr<c10::StorageImpl>::reclaim(storage);
  const bool is_alone =
      borrowed.use_count() <= uses && borrowed.weak_use_count() <= 1;
  borrowed.release();
  return is_alone;
}

#if GPUOS_HAS_MATERIALIZER
// An explicit instantiation may name what is private.
template <auto Member>
struct HookMember {
  friend auto hook_member(const c10::StorageImpl*) { return Member; }
};
auto hook_member(const c10::StorageImpl*);
template struct HookMember<&c10::StorageImpl::materialize_fn_>;

inline auto hook_of(const c10::StorageImpl* storage) {
  return storage->*hook_member(storage);
}
inline void watch(c10::StorageImpl* storage) {
  if (!storage->has_materializer()) storage->set_materializer(&on_access);
}
inline void unwatch(c10::StorageImpl* storage) {
  if (hook_of(storage) == &on_access) storage->clear_materializer();
}
/// Whether somebody else waits for the first look, as copy on write does.
inline bool is_watched_by_others(c10::StorageImpl* storage) {
  return storage->has_materializer() && hook_of(storage) != &on_access;
}
#else
inline void watch(c10::StorageImpl*) {}
inline void unwatch(c10::StorageImpl*) {}
inline bool is_watched_by_others(c10::StorageImpl* storage) {
  return storage->_mutable_data_ptr_no_checks().get_deleter() ==
         &c10::impl::cow::cow_deleter;
}
#endif

}  // namespace gpuos::bridge
