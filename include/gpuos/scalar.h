#pragma once

#include <bit>
#include <complex>
#include <concepts>
#include <cstdint>
#include <utility>

#include "gpuos/dtype.h"
#include "gpuos/export.h"

namespace gpuos {

/// Is a number for a parameter. It is converted to the parameter's dtype when
/// the task is submitted.
class Scalar {
 public:
  // The sum with 0: in_range() takes no bool and no character.
  template <std::integral T>
  Scalar(T value) noexcept  // NOLINT(google-explicit-constructor)
      : kind_(std::in_range<std::int64_t>(0 + value) ? Kind::Integer
                                                     : Kind::Unsigned),
        integer_(static_cast<std::int64_t>(value)) {}
  template <std::floating_point T>
  Scalar(T value) noexcept  // NOLINT(google-explicit-constructor)
      : kind_(Kind::Real), real_(static_cast<double>(value)) {}
  /// Stores the float, because a conversion makes a signalling NaN quiet.
  Scalar(float value) noexcept  // NOLINT(google-explicit-constructor)
      : kind_(Kind::Single), single_(value) {}
  Scalar(std::complex<double> value) noexcept  // NOLINT(*-explicit-constructor)
      : kind_(Kind::Complex), complex_{value.real(), value.imag()} {}
  Scalar(std::complex<float> value) noexcept  // NOLINT(*-explicit-constructor)
      : Scalar(std::complex<double>(value)) {}

  bool is_integer() const noexcept {
    return kind_ == Kind::Integer || is_above_int64();
  }
  /// Returns whether it is an integer of 2^63 or more.
  bool is_above_int64() const noexcept { return kind_ == Kind::Unsigned; }
  bool is_complex() const noexcept { return kind_ == Kind::Complex; }
  /// Requires is_integer(). Returns a number above int64 with the same bits,
  /// and thus negative.
  std::int64_t integer() const noexcept { return integer_; }
  /// Returns the number, or the real part of a complex number.
  GPUOS_API double real() const noexcept;
  /// Requires is_complex().
  std::complex<double> complex() const noexcept {
    return {complex_.real, complex_.imag};
  }

  /// Returns the value's bits as `dtype`, zero-extended to 64. It is rounded
  /// once, to the nearest number, and a tie to even. NaN as a short float has
  /// all bits except the sign. A complex64 has its real part in the low half.
  /// For a complex128 these are the bits of one part.
  /// Throws: InvalidArgument if `dtype` is bool or an integer type and the
  /// value is not a whole number that fits (0 or 1 for bool), or if `dtype` is
  /// real and the value is complex.
  GPUOS_API std::uint64_t bits_as(DType dtype, bool is_imaginary = false) const;
  /// Returns whether both have the same kind and bits.
  bool is_same(const Scalar& other) const noexcept {
    return kind_ == other.kind_ && bits() == other.bits() &&
           (kind_ != Kind::Complex ||
            std::bit_cast<std::uint64_t>(complex_.imag) ==
                std::bit_cast<std::uint64_t>(other.complex_.imag));
  }
  /// Returns whether both have the same bits as `dtype`. Throws: as bits_as().
  bool is_same_as(const Scalar& other, DType dtype) const {
    return bits_as(dtype) == other.bits_as(dtype) &&
           (dtype != DType::Complex128 ||
            bits_as(dtype, true) == other.bits_as(dtype, true));
  }

 private:
  enum class Kind : std::uint8_t { Integer, Unsigned, Single, Real, Complex };
  struct Parts {
    double real;
    double imag;
  };

  std::uint64_t bits() const noexcept {
    if (kind_ == Kind::Single) return std::bit_cast<std::uint32_t>(single_);
    if (kind_ == Kind::Complex)  // the real part's
      return std::bit_cast<std::uint64_t>(complex_.real);
    if (kind_ == Kind::Real) return std::bit_cast<std::uint64_t>(real_);
    return static_cast<std::uint64_t>(integer_);
  }
  /// Returns a double. Rounding it to fewer than 52 bits rounds the value.
  double sticky_real() const noexcept;
  float single() const noexcept;
  std::uint64_t whole_bits_as(DType dtype) const;

  Kind kind_;
  union {
    std::int64_t integer_;
    float single_;
    double real_;
    Parts complex_;
  };
};

}  // namespace gpuos
