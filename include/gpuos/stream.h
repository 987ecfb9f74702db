#pragma once

namespace gpuos {

/// A stream of the caller, as the driver's handle. Empty: gpuos' choice, which
/// the function that takes it names.
struct Stream {
  void* handle = nullptr;
  bool is_named = false;

  Stream() = default;
  /// `cuda_stream` is a CUstream or cudaStream_t. Null is the legacy default
  /// stream.
  explicit Stream(void* cuda_stream) : handle(cuda_stream), is_named(true) {}
};

}  // namespace gpuos
