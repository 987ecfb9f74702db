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
      : kind_(Kind::Integer), integer_(static_cast<std::int64_t>(value)) {}
  template <std::floating_point T>
  Scalar(T value) noexcept  // NOLINT(google-explicit-constructor)
      : kind_(Kind::Real), real_(static_cast<double>(value)) {}
  /// A conversion would make a signalling NaN quiet.
  Scalar(float value) noexcept  // NOLINT(google-explicit-constructor)
      : kind_(Kind::Single), single_(value) {}

  bool is_integer() const noexcept { return kind_ == Kind::Integer; }
  /// If is_integer().
  std::int64_t integer() const noexcept { return integer_; }
  double real() const noexcept {
    if (kind_ == Kind::Single) return static_cast<double>(single_);
    return is_integer() ? static_cast<double>(integer_) : real_;
  }

  /// The value's bits as `dtype`, zero-extended to 64.
  /// Throws: InvalidArgument if `dtype` is an integer type and the value is
  /// not a whole number that fits.
  std::uint64_t bits_as(DType dtype) const;

 private:
  enum class Kind : std::uint8_t { Integer, Single, Real };

  Kind kind_;
  union {
    std::int64_t integer_;
    float single_;
    double real_;
  };
};

}  // namespace gpuos
