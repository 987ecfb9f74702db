// The dispatch keys that the bridge uses, and the test for a thread's default
// state.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/DispatchKeySet.h>
#include <c10/core/GradMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <atomic>

#include "pytorch/private_parts.h"

namespace gpuos::bridge {

using at::Tensor;
using c10::DispatchKey;
using c10::DispatchKeySet;

/// The key that a thread includes inside a scheduler: its operators come to us
/// before autograd. PyTorch has no own kernels at this key.
inline constexpr DispatchKey kModeKey = DispatchKey::TESTING_ONLY_GenericMode;
/// A bit of tensors whose value is still pending, right above the kernels: any
/// way to the data passes it, in any thread and mode, and views inherit it.
inline constexpr DispatchKey kPendingKey = DispatchKey::CustomRNGKeyId;
/// A second key of those tensors, above autograd, where composite operators
/// begin. Composites that may look at elements themselves stop there.
inline constexpr DispatchKey kCompositeKey =
    DispatchKey::TESTING_ONLY_GenericWrapper;

inline constexpr DispatchKeySet kPendingKeys{kPendingKey, kCompositeKey};
inline constexpr DispatchKeySet kBelowMode{DispatchKeySet::FULL_AFTER,
                                           kModeKey};
inline constexpr DispatchKeySet kBehindComposite{DispatchKeySet::FULL_AFTER,
                                                 kCompositeKey};
inline constexpr DispatchKeySet kBehindPending{DispatchKeySet::FULL_AFTER,
                                               kPendingKey};

/// The keys that bring PyTorch's own kernels.
inline constexpr DispatchKeySet kKernelKeys =
    DispatchKeySet(DispatchKey::CPU) | DispatchKeySet(DispatchKey::CUDA);

/// The keys of kernels that run before the key of pending tensors. Their
/// tensors consist of other tensors, which they read by pointers.
inline constexpr DispatchKeySet kMadeOfOthers =
    DispatchKeySet(DispatchKey::MkldnnCPU) |
    DispatchKeySet(DispatchKey::Sparse) |
    DispatchKeySet(DispatchKey::SparseCsr) |
    DispatchKeySet(DispatchKey::NestedTensor);

// The attribute of a thread-local that is found without a call. A loaded
// library has room for a few words of them.
#define GPUOS_NEAR_TLS __attribute__((tls_model("initial-exec")))

/// Schedulers that this thread is in.
extern constinit thread_local int scheduler_depth GPUOS_NEAR_TLS;
/// Threads that are in one.
extern std::atomic<int> scheduler_threads;

/// A thread's dispatch state.
struct ThreadState {
  std::uint64_t included = 0;
  std::uint64_t excluded = 0;

  bool is(const c10::impl::PODLocalDispatchKeySet& keys) const noexcept {
    return keys.included_ == included && keys.excluded_ == excluded;
  }
};
/// The state with our mode alone, and the same in inference mode.
extern ThreadState usual_state;
extern ThreadState inferring_state;

/// Below autograd: whether this thread defers at all.
inline bool is_deferring_thread() {
  if (scheduler_depth == 0) return false;
  const auto state = c10::impl::tls_local_dispatch_key_set();
  return state.included_.has(kModeKey) && !state.excluded_.has(kModeKey);
}

/// is_without_grad() of a tensor that autograd knows.
[[gnu::noinline]] inline bool is_read_without_grad(const Tensor& tensor) {
  if (tensor._fw_grad(0).defined()) return false;
  return !(c10::GradMode::is_enabled() &&
           tensor.unsafeGetTensorImpl()->requires_grad());
}

/// Nothing of autograd happens to an operator that reads or writes `tensor`,
/// but that its version counts a write. PyTorch refuses writes to leaves and
/// views only where a gradient is required.
[[gnu::always_inline]] inline bool is_without_grad(const Tensor& tensor) {
  return C10_LIKELY(tensor.unsafeGetTensorImpl()->autograd_meta() == nullptr) ||
         is_read_without_grad(tensor);
}

/// Returns the keys of a tensor that decide which kernel computes with it.
inline DispatchKeySet kernel_keys_of(const Tensor& tensor) {
  constexpr DispatchKeySet kOthers =
      c10::autograd_dispatch_keyset | kPendingKeys |
      DispatchKeySet(DispatchKey::ADInplaceOrView) |
      DispatchKeySet(DispatchKey::AutocastCPU) |
      DispatchKeySet(DispatchKey::AutocastCUDA);
  return tensor.unsafeGetTensorImpl()->key_set() - kOthers;
}

/// Returns whether a kernel of PyTorch computes with it: it is no lazy tensor,
/// and has no subclass, mode or transform.
inline bool has_usual_keys(const Tensor& tensor) {
  const DispatchKeySet keys = kernel_keys_of(tensor);
  return keys == DispatchKeySet(DispatchKey::CPU) ||
         keys == DispatchKeySet(DispatchKey::CUDA);
}

inline bool is_marked(const Tensor& tensor) {
  return tensor.defined() &&
         tensor.unsafeGetTensorImpl()->key_set().has(kPendingKey);
}
inline void mark(c10::TensorImpl* impl) {
  auto& keys = Fields::keys_of(impl);
  keys = keys | kPendingKeys;
}
inline void unmark(c10::TensorImpl* impl) {
  auto& keys = Fields::keys_of(impl);
  keys = keys - kPendingKeys;
}

/// Excludes the mode while kernels of PyTorch run for us, so that we do not
/// take their calls.
struct WithoutMode {
  c10::impl::ExcludeDispatchKeyGuard guard{kModeKey};
};

}  // namespace gpuos::bridge
