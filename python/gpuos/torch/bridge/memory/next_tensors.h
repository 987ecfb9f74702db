// Tensors that a loop over many of them comes to next.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstddef>

#include "pytorch/memory.h"

namespace gpuos::bridge {

/// Prefetches the tensors that came next the last time. A loop over more
/// tensors than a cache holds waits for memory, a fifth of its time for 10,000
/// triples. The tensors may be gone, so they are only prefetched, never read
/// (docs/lab/torch_operation.md).
///
/// There is one object for each place in a call. Threads: under the GIL.
class NextTensors {
 public:
  void come_to(const Tensor& next) noexcept {
    const c10::TensorImpl* tensor = next.unsafeGetTensorImpl();
    if (came_[at_] != tensor) {
      if (came_[0] == tensor) at_ = 0;
      came_[at_] = tensor;
    }
    const void* ahead = came_[(at_ + kAhead) % kMost];
    at_ = (at_ + 1) % kMost;
    if (ahead != nullptr) prefetch(ahead, sizeof(c10::TensorImpl));
  }

 private:
  static constexpr std::size_t kAhead = 4;
  static constexpr std::size_t kMost = 16384;

  std::array<const void*, kMost> came_{};  // in order, from [0] again
  std::size_t at_ = 0;
};

/// The next ones of the first, second and third tensor of a call.
inline NextTensors next_tensors[3];

}  // namespace gpuos::bridge
