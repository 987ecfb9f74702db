// Tensors for results.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Stream.h>

namespace gpuos::bridge {

using at::Tensor;

/// A tensor with memory and no values. `strides` empty: C order. Its storage
/// may be one of recycle(): to make one is most of what eager PyTorch spends
/// on a small operation.
/// Throws: c10::Error if there is no memory.
Tensor make_output(at::IntArrayRef sizes, at::IntArrayRef strides,
                   at::ScalarType type, c10::Device device);

/// Keeps a storage of make_output() that nobody else holds, with the caller's
/// reference, for a later output in the same stream.
void recycle(c10::StorageImpl* storage, c10::Stream stream);
/// This one is not used again: another stream may still be at it when nobody
/// holds it any more, which only its allocator knows.
void never_recycle(const c10::StorageImpl* storage);

/// Forget the storages that could be used again: of this thread now, of others
/// when they look for one.
void drop_storages();
/// Whether storages are used again. Off during the capture of a graph, whose
/// memory is its own.
void keep_storages(bool keep);

}  // namespace gpuos::bridge
