// The modes that a thread of PyTorch is in.
#pragma once

#include <ATen/PythonTorchFunctionTLS.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include "keys.h"
#include "private_parts.h"

namespace gpuos::bridge {

/// Where PyTorch keeps them: found once for each thread, as a thread-local of
/// another library takes a call each time.
struct Modes {
  const c10::impl::PODLocalDispatchKeySet* keys = nullptr;
  const at::impl::PythonTorchFunctionTLS* functions = nullptr;
};
extern constinit thread_local Modes modes_of_thread GPUOS_NEAR_TLS;

/// Fills modes_of_thread in.
void find_modes() noexcept;

inline const Modes& modes() noexcept {
  if (C10_UNLIKELY(modes_of_thread.keys == nullptr)) find_modes();
  return modes_of_thread;
}

/// Inside a scheduler, with no mode, transform, autocast or inference around.
inline bool is_usual_thread() noexcept {
  if (scheduler_depth == 0) return false;
  const auto& keys = *modes().keys;
  return keys.included_ == usual_state.included &&
         keys.excluded_ == usual_state.excluded;
}

/// Whether Python may have a say in what a function of PyTorch does.
inline bool has_function_mode() {
  return C10_UNLIKELY(has_function_modes(modes().functions)) &&
         at::impl::torch_function_mode_enabled();
}

/// Inference mode shows in a thread's keys.
inline bool is_inferring() {
  return C10_UNLIKELY(!is_usual_thread()) && c10::InferenceMode::is_enabled();
}

}  // namespace gpuos::bridge
