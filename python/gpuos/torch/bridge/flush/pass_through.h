// Operations that are PyTorch's for their size or their cost.
#pragma once

#include <utility>

#include "flush/costs.h"
#include "flush/pending.h"
#include "pytorch/hooks.h"
#include "pytorch/keys.h"
#include "pytorch/modes.h"

namespace gpuos::bridge {

/// Returns whether the last requested operation was refused permanently, and
/// clears the flag.
inline bool take_rejection() noexcept {
  return C10_UNLIKELY(std::exchange(is_passed_to_pytorch, false));
}

/// Returns whether pending requests neither write the memory of an unmarked
/// `tensor`, nor use it if an operator `writes` it.
inline bool is_apart(const Tensor& tensor, bool writes) {
  return tensor.has_storage() && tensor.layout() == at::kStrided &&
         !pending.writes(storage_of(tensor)) &&
         !(writes && may_be_used(storage_of(tensor)));
}

/// Runs all pending operations before an operation that PyTorch runs at once,
/// unless they are independent. Its own pending inputs are marked, and run when
/// PyTorch accesses them.
void run_before_pass(const Cause& op, bool is_apart);

/// Removes our mode from the thread for its lifetime.
struct PassThrough {
  PassThrough(const Cause& op, bool is_apart) { run_before_pass(op, is_apart); }
  WithoutMode without{};
};

/// Returns whether an operation that was refused above autograd should also be
/// left to PyTorch below it: on a processor, deferring there saves nothing.
inline bool passes_below(const Tensor& tensor) {
  return tensor.is_cpu() && is_usual_thread() && weighs_costs();
}

}  // namespace gpuos::bridge
