#pragma once

#include <concepts>
#include <cstdint>

#include "gpuos/dtype.h"

namespace gpuos {

/// A number given as a parameter; converted to the parameter's dtype when the
/// task is submitted.
class Scalar {
 public:
  template <std::integral T>
  Scalar(T value) noexcept  // NOLINT(google-explicit-constructor)
      : is_integer_(true), integer_(static_cast<std::int64_t>(value)) {}
  template <std::floating_point T>
  Scalar(T value) noexcept  // NOLINT(google-explicit-constructor)
      : is_integer_(false), real_(static_cast<double>(value)) {}

  bool is_integer() const noexcept { return is_integer_; }
  /// If is_integer().
  std::int64_t integer() const noexcept { return integer_; }
  double real() const noexcept {
    return is_integer_ ? static_cast<double>(integer_) : real_;
  }

  /// The value's bits as `dtype`, zero-extended to 64.
  /// Throws: InvalidArgument if `dtype` is an integer type and the value is
  /// not a whole number that fits.
  std::uint64_t bits_as(DType dtype) const;

 private:
  bool is_integer_;
  union {
    std::int64_t integer_;
    double real_;
  };
};

}  // namespace gpuos
