// Tensors for results.
#pragma once

#include <ATen/core/Tensor.h>

namespace gpuos::bridge {

using at::Tensor;

/// A tensor with memory and no values. `strides` empty: C order. Its storage
/// may be one that nobody uses any more: that is most of what eager PyTorch
/// spends on a small operation.
/// Throws: c10::Error if there is no memory.
Tensor make_output(at::IntArrayRef sizes, at::IntArrayRef strides,
                   at::ScalarType type, c10::Device device);

/// Forget the storages that could be used again; of this thread.
void drop_storages();
/// Whether storages are used again. Off during the capture of a graph, whose
/// memory is its own.
void keep_storages(bool keep);

}  // namespace gpuos::bridge
