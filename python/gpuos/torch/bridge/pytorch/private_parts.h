// All private parts of PyTorch that the bridge reads or writes.
//
// They are asserted here for the tested versions, and checked again when the
// bridge is loaded. If the layout differs, schedulers are eager (loading.py).
// The parts have these purposes:
//
// - a tensor's fields: PyTorch's public functions check each tensor for changes
// by subclasses, and a tensor's kind is one comparison instead of six;
// - a tensor's keys: the mark of pending operations, which everything needs;
// - a storage's hook: to distinguish ours from that of copy on write;
// - a reference count: for unseen objects, without an atomic;
// - a thread's function modes: they see every call, so none may be missed. A
// public query takes a call into another library each time.
//
// storage_setters.cpp and overrides.cpp write into objects of PyTorch's
// Python module; patches.h has that.
#pragma once

#include <ATen/PythonTorchFunctionTLS.h>
#include <ATen/core/Tensor.h>
#include <c10/core/StorageImpl.h>
#include <c10/util/intrusive_ptr.h>
#include <torch/version.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#define GPUOS_TORCH_VERSION (TORCH_VERSION_MAJOR * 100 + TORCH_VERSION_MINOR)
// PyTorch has had a hook of storages since 2.13. Before that, access.py wraps
// Python's functions that return a pointer.
#define GPUOS_HAS_MATERIALIZER (GPUOS_TORCH_VERSION >= 213)

namespace gpuos::bridge {

// The versions are those of TRIED in choosing.py.
static_assert(GPUOS_TORCH_VERSION == 211 || GPUOS_TORCH_VERSION == 213,
              "the bridge was not tried with this PyTorch");

using at::Tensor;

/// Throws: c10::Error if PyTorch's layout differs from the tested versions.
void check_private_parts();

struct Fields : c10::TensorImpl {
  /// Returns the fields between the number of elements and the keys: dtype,
  /// device and flags. The flags tell whether the tensor is contiguous and
  /// whether a subclass defines its sizes.
  static std::uint64_t kind_of(const Tensor& tensor) noexcept {
    static_assert(offsetof(Fields, key_set_) - offsetof(Fields, data_type_) ==
                  sizeof(std::uint64_t));
    std::uint64_t kind = 0;
    std::memcpy(&kind,
                reinterpret_cast<const char*>(tensor.unsafeGetTensorImpl()) +
                    offsetof(Fields, data_type_),
                sizeof(kind));
    // The highest bit is none of the 23 flags: PyTorch leaves there what the
    // memory held before, so that tensors alike would differ now and then.
    return kind << 1;
  }
  /// Returns whether a subclass answers for its sizes.
  static bool has_own_sizes(const Tensor& tensor) {
    return (tensor.unsafeGetTensorImpl()->*(&Fields::matches_policy))(
        SizesStridesPolicy::CustomStrides);
  }

  static const c10::impl::SizesAndStrides& layout_of(const Tensor& tensor) {
    return tensor.unsafeGetTensorImpl()->*(&Fields::sizes_and_strides_);
  }
  static std::int64_t numel_of(const Tensor& tensor) {
    return tensor.unsafeGetTensorImpl()->*(&Fields::numel_);
  }
  static std::int64_t offset_of(const Tensor& tensor) {
    return tensor.unsafeGetTensorImpl()->*(&Fields::storage_offset_);
  }
  static c10::DispatchKeySet& keys_of(c10::TensorImpl* impl) {
    return impl->*(&Fields::key_set_);
  }
};

/// Defines a function that returns a private member. An explicit instantiation
/// may name private members, and the function is found by its argument.
#define GPUOS_PRIVATE_MEMBER(function, Class, member)     \
  template <auto Member>                                  \
  struct function##_friend {                              \
    friend auto function(const Class*) { return Member; } \
  };                                                      \
  auto function(const Class*);                            \
  template struct function##_friend<&Class::member>

GPUOS_PRIVATE_MEMBER(count_member, c10::intrusive_ptr_target,
                     combined_refcount_);
GPUOS_PRIVATE_MEMBER(function_modes, at::impl::PythonTorchFunctionTLS, stack_);
#if GPUOS_HAS_MATERIALIZER
GPUOS_PRIVATE_MEMBER(hook_member, c10::StorageImpl, materialize_fn_);

inline auto hook_of(const c10::StorageImpl* storage) {
  return storage->*hook_member(storage);
}
#endif
#undef GPUOS_PRIVATE_MEMBER

/// Replace the functions of c10::raw, which use atomics, for an object that
/// this thread has just made and that no other thread has seen.
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

/// Returns whether Python function modes see the calls of this thread.
inline bool has_function_modes(const at::impl::PythonTorchFunctionTLS* state) {
  return !(state->*function_modes(state)).empty();
}

}  // namespace gpuos::bridge
