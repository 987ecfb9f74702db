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
  TensorView(void* buffer, std::int64_t elems, DType type)
      : data(buffer), dtype(type), shape{elems} {}
  TensorView(float* buffer, std::int64_t elems)
      : TensorView(buffer, elems, DType::Float32) {}
  TensorView(double* buffer, std::int64_t elems)
      : TensorView(buffer, elems, DType::Float64) {}
  TensorView(std::int32_t* buffer, std::int64_t elems)
      : TensorView(buffer, elems, DType::Int32) {}
  TensorView(std::int64_t* buffer, std::int64_t elems)
      : TensorView(buffer, elems, DType::Int64) {}

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
