// The modes that a thread of PyTorch is in.
#pragma once

#include <ATen/PythonTorchFunctionTLS.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include "pytorch/keys.h"
#include "pytorch/private_parts.h"

namespace gpuos::bridge {

/// Where PyTorch keeps them: found once for each thread, as a thread-local of
/// another library takes a call each time.
struct Modes {
  const c10::impl::PODLocalDispatchKeySet* keys = nullptr;
  const at::impl::PythonTorchFunctionTLS* functions = nullptr;
};
inline constinit thread_local Modes modes_of_thread GPUOS_NEAR_TLS;

[[gnu::noinline]] inline void find_modes() noexcept {
  modes_of_thread = {&c10::impl::raw_local_dispatch_key_set,
                     &at::impl::PythonTorchFunctionTLS::get_state()};
}

inline const Modes& modes() noexcept {
  if (C10_UNLIKELY(modes_of_thread.keys == nullptr)) find_modes();
  return modes_of_thread;
}

/// Returns whether this thread is inside a scheduler, without any mode except
/// inference mode, transform or autocast.
inline bool is_usual_thread() noexcept {
  if (scheduler_depth == 0) return false;
  const auto& keys = *modes().keys;
  return C10_LIKELY(usual_state.is(keys)) || inferring_state.is(keys);
}

/// Returns whether Python code may change the behaviour of a PyTorch function.
inline bool has_function_mode() {
  return C10_UNLIKELY(has_function_modes(modes().functions)) &&
         at::impl::torch_function_mode_enabled();
}

inline bool is_inferring() {
  return C10_UNLIKELY(!usual_state.is(*modes().keys)) &&
         c10::InferenceMode::is_enabled();
}

/// Returns whether PyTorch lets this thread write to `tensor`. Tensors of
/// inference mode may only be written in that mode, and count no versions.
inline bool is_writable(const Tensor& tensor) {
  return C10_LIKELY(!tensor.is_inference()) || is_inferring();
}

}  // namespace gpuos::bridge
