// Operations that are PyTorch's for their size or their cost.
#pragma once

#include <utility>

#include "costs.h"
#include "keys.h"
#include "modes.h"

namespace gpuos::bridge {

/// Whether the operation that was asked for last was refused for good; asked
/// once.
inline bool take_refusal() noexcept {
  return C10_UNLIKELY(std::exchange(is_left_to_pytorch, false));
}

/// Runs what must come before an operation that goes to PyTorch at once: all
/// that waits if that `writes` what was there, or if some of it does. What it
/// reads and waits is marked, and run when PyTorch comes to it.
void run_before_left(bool writes);

/// While it runs: our mode is out of the thread.
struct Leaving {
  explicit Leaving(bool writes) { run_before_left(writes); }
  WithoutMode without{};
};

/// Whether what was refused above autograd would be of no use below it: on a
/// processor that saves nothing.
inline bool is_left_below(const Tensor& tensor) {
  return tensor.is_cpu() && is_usual_thread() && weighs_costs();
}

}  // namespace gpuos::bridge
