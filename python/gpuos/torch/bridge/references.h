// References to what nobody else can know yet.
#pragma once

#include <c10/util/intrusive_ptr.h>

#include <atomic>
#include <cstdint>

namespace gpuos::bridge {

// An explicit instantiation may name what is private.
template <auto Member>
struct CountMember {
  friend auto count_member(const c10::intrusive_ptr_target*) { return Member; }
};
auto count_member(const c10::intrusive_ptr_target*);
template struct CountMember<&c10::intrusive_ptr_target::combined_refcount_>;

/// As the functions of c10::raw, which take an atomic, of an object that this
/// thread has just made and not yet shown to another.
inline void add_to_unseen(c10::intrusive_ptr_target* object,
                          std::uint64_t references) {
  std::atomic<std::uint64_t>& count = object->*count_member(object);
  count.store(count.load(std::memory_order_relaxed) + references,
              std::memory_order_relaxed);
}
inline void incref_unseen(c10::intrusive_ptr_target* object) {
  add_to_unseen(object, c10::detail::kReferenceCountOne);
}
inline void weak_incref_unseen(c10::intrusive_ptr_target* object) {
  add_to_unseen(object, c10::detail::kWeakReferenceCountOne);
}

}  // namespace gpuos::bridge
