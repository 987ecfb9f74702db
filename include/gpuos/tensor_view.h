#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "gpuos/dtype.h"
#include "gpuos/export.h"

namespace gpuos {

inline constexpr int kMaxDims = 8;

/// Contains the addresses from `low` to just before `high`.
struct ByteRange {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
};

/// Describes a buffer of one dtype, contiguous or with strides. It owns
/// nothing. Built-in and whole operators take only contiguous buffers.
///
/// Lifetime: the memory must stay valid until every task that was submitted
/// with it is done. Buffers of Runtime::allocate() ensure this: their memory is
/// freed after the tasks that use it.
struct TensorView {
  void* data = nullptr;
  DType dtype = DType::Float32;
  bool read_only = false;
  std::uint8_t dims = 1;
  bool has_strides = false;  // false: in C order without gaps
  /// Units: elements. Only `dims` of them are copied with a view.
  std::array<std::int64_t, kMaxDims> shape;
  /// The distance from one element to the next along each axis. It may be 0 or
  /// negative.
  /// Units: elements. Read only if `has_strides`, and not set before that. A
  /// submission makes many views and writes no more than it must.
  std::array<std::int64_t, kMaxDims> strides;

  TensorView() : shape{} {}
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

  // A list of views makes copies, which are part of the cost of a submission.
  // They copy only the used fields of a plain array, each as it was written.
  TensorView(const TensorView& other) noexcept
      : data(other.data),
        dtype(other.dtype),
        read_only(other.read_only),
        dims(other.dims),
        has_strides(other.has_strides) {
    copy_dims(other);
  }
  TensorView& operator=(const TensorView& other) noexcept {
    if (this == &other) return *this;
    data = other.data;
    dtype = other.dtype;
    read_only = other.read_only;
    dims = other.dims;
    has_strides = other.has_strides;
    copy_dims(other);
    return *this;
  }

  /// Returns the number of elements, or -1 if a dimension is negative.
  std::int64_t size() const noexcept {
    std::int64_t product = 1;
    for (int i = 0; i < dims; ++i) {
      if (shape[i] < 0) return -1;
      product *= shape[i];
    }
    return product;
  }

  /// Returns whether it is in C order without gaps. Strides along axes of one
  /// element, or of a view without elements, do not matter.
  bool is_contiguous() const noexcept {
    return !has_strides || has_c_strides();
  }

  /// Returns the strides, in C order if the view has none, and 0 beyond `dims`.
  GPUOS_API std::array<std::int64_t, kMaxDims> element_strides() const noexcept;

  /// Returns the bytes that its elements cover, none if there are no elements.
  GPUOS_API ByteRange byte_range() const noexcept;

 private:
  void copy_dims(const TensorView& other) noexcept {
    if (dims == 1 && !has_strides)
      shape[0] = other.shape[0];
    else
      copy_each(other);
  }
  // Here, not in the library, because a bridge copies many views.
  void copy_each(const TensorView& other) noexcept {
    const std::size_t count = std::min<std::size_t>(dims, kMaxDims);
    std::copy_n(other.shape.begin(), count, shape.begin());
    if (has_strides) std::copy_n(other.strides.begin(), count, strides.begin());
  }
  GPUOS_API bool has_c_strides() const noexcept;
};

/// Returns "(2, 3) float32", or "(3, 2) float32 with strides (1, 3)".
GPUOS_API std::string to_string(const TensorView& view);

}  // namespace gpuos
