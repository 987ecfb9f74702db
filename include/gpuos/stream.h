#pragma once

namespace gpuos {

/// Is a stream of the caller, as the driver's handle. If it is empty, gpuos
/// chooses, as the called function documents.
struct Stream {
  void* handle = nullptr;
  bool is_named = false;

  Stream() = default;
  /// `cuda_stream` is a CUstream or cudaStream_t. Null is the legacy default
  /// stream.
  explicit Stream(void* cuda_stream) : handle(cuda_stream), is_named(true) {}
};

}  // namespace gpuos
