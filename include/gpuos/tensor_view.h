#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "gpuos/dtype.h"

namespace gpuos {

inline constexpr int kMaxDims = 8;

/// A contiguous, C-ordered buffer of one element type. Owns nothing.
///
/// Lifetime: the memory must stay valid until every task that was submitted
/// with it is done. Buffers of Runtime::allocate() keep this rule by
/// themselves: their memory is given back after the tasks that use it.
struct TensorView {
  void* data = nullptr;
  DType dtype = DType::Float32;
  bool read_only = false;
  std::uint8_t dims = 1;
  std::array<std::int64_t, kMaxDims> shape{};

  TensorView() = default;
  TensorView(void* data, std::int64_t size, DType dtype)
      : data(data), dtype(dtype), shape{size} {}
  TensorView(float* data, std::int64_t size)
      : TensorView(data, size, DType::Float32) {}
  TensorView(double* data, std::int64_t size)
      : TensorView(data, size, DType::Float64) {}
  TensorView(std::int32_t* data, std::int64_t size)
      : TensorView(data, size, DType::Int32) {}
  TensorView(std::int64_t* data, std::int64_t size)
      : TensorView(data, size, DType::Int64) {}

  /// Units: elements. Negative if any dimension is.
  std::int64_t size() const noexcept {
    std::int64_t product = 1;
    for (int i = 0; i < dims; ++i) {
      if (shape[i] < 0) return -1;
      product *= shape[i];
    }
    return product;
  }
};

/// "(2, 3) float32", for messages.
std::string to_string(const TensorView& view);

}  // namespace gpuos
