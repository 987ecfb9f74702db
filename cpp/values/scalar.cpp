#include "gpuos/scalar.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "base/concat.h"
#include "gpuos/error.h"

namespace gpuos {
namespace {

constexpr double kTwoTo63 = 9223372036854775808.0;

struct Whole {
  bool is_negative = false;
  std::uint64_t magnitude = 0;
};

Whole whole_of(std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  return value < 0 ? Whole{true, 0 - bits} : Whole{false, bits};
}

Whole whole_of(double value, DType dtype) {
  if (value < -kTwoTo63 || value >= 2 * kTwoTo63)
    throw OutOfRange(concat("scalar: expected a number that fits ",
                            name_of(dtype), ", got ", value));
  if (value != std::trunc(value)) {  // or NaN
    throw InvalidArgument(concat("scalar: expected a whole number for ",
                                 name_of(dtype), ", got ", value));
  }
  return {value < 0, static_cast<std::uint64_t>(std::fabs(value))};
}

int bits_of(DType dtype) {
  return dtype == DType::Bool ? 1 : static_cast<int>(8 * size_of(dtype));
}

// The largest magnitudes: one more below 0 than above, or none.
Whole lowest_of(DType dtype) {
  if (!is_signed(dtype)) return {};
  return {true, std::uint64_t{1} << (bits_of(dtype) - 1)};
}
Whole highest_of(DType dtype) {
  const int bits = bits_of(dtype) - (is_signed(dtype) ? 1 : 0);
  return {false, ~std::uint64_t{0} >> (64 - bits)};
}

std::string text_of(const Whole& whole) {
  return concat(whole.is_negative ? "-" : "", whole.magnitude);
}

// The bit layout of a short float: a sign, an exponent, a fraction.
struct Format {
  int bits;            // all of them
  int fraction;        // those of the fraction
  std::uint64_t most;  // the bits of infinity, or of the largest number
};

Format format_of(DType dtype) {
  switch (dtype) {
#define GPUOS_CASE(with, name, text, bytes, Stored, fraction, most, ...) \
  case DType::name:                                                      \
    return {8 * (bytes), fraction, most};
    GPUOS_SHORT_FLOATS(GPUOS_CASE, )
#undef GPUOS_CASE
    default:
      return {};
  }
}

// Rounds to the nearest number of the format, ties to even.
std::uint64_t rounded_bits(double value, const Format& format) {
  const auto& [bits, fraction, most] = format;
  const std::uint64_t sign_bit = std::uint64_t{1} << (bits - 1);
  if (std::isnan(value)) return sign_bit - 1;
  const std::uint64_t sign = std::signbit(value) ? sign_bit : 0;
  const double size = std::fabs(value);
  if (std::isinf(size)) return sign | most;
  // The exponent of 2 in the least number with all digits.
  const int least = 2 - (1 << (bits - 2 - fraction));
  int exponent = 0;
  std::frexp(size, &exponent);
  const int above_least = size == 0 ? 0 : std::max(exponent - 1 - least, 0);
  // Exact: a power of two moves only the exponent.
  const double units = std::ldexp(size, fraction - least - above_least);
  const std::uint64_t nearest =
      static_cast<std::uint64_t>(std::nearbyint(units)) +
      (static_cast<std::uint64_t>(above_least) << fraction);
  return sign | std::min<std::uint64_t>(nearest, most);
}

}  // namespace

double Scalar::real() const noexcept {
  switch (kind_) {
    case Kind::Integer:
      return static_cast<double>(integer_);
    case Kind::Unsigned:
      return static_cast<double>(static_cast<std::uint64_t>(integer_));
    case Kind::Single:
      return static_cast<double>(single_);
    case Kind::Real:
      return real_;
    case Kind::Complex:
      break;
  }
  return complex_.real;
}

double Scalar::sticky_real() const noexcept {
  if (!is_integer()) return real();
  const auto bits = static_cast<std::uint64_t>(integer_);
  const std::uint64_t size =
      kind_ == Kind::Integer && integer_ < 0 ? 0 - bits : bits;
  if (size >> 53 == 0) return real();
  // The last bit says whether anything was cut off, so no false tie comes up.
  const double odd = static_cast<double>(size >> 11 | ((size & 0x7ff) != 0));
  return std::copysign(std::ldexp(odd, 11), real());
}

float Scalar::single() const noexcept {
  switch (kind_) {
    case Kind::Integer:
      return static_cast<float>(integer_);
    case Kind::Unsigned:
      return static_cast<float>(static_cast<std::uint64_t>(integer_));
    case Kind::Single:
      return single_;
    case Kind::Real:
      return static_cast<float>(real_);
    case Kind::Complex:
      break;
  }
  return static_cast<float>(complex_.real);
}

std::uint64_t Scalar::whole_bits_as(DType dtype) const {
  const Whole whole = is_above_int64()
                          ? Whole{false, static_cast<std::uint64_t>(integer_)}
                      : is_integer() ? whole_of(integer_)
                                     : whole_of(real(), dtype);
  const Whole lowest = lowest_of(dtype);
  const Whole highest = highest_of(dtype);
  if (whole.magnitude > (whole.is_negative ? lowest : highest).magnitude) {
    throw OutOfRange(concat("scalar: expected a number from ", text_of(lowest),
                            " to ", text_of(highest), " for ", name_of(dtype),
                            ", got ", text_of(whole)));
  }
  const std::uint64_t bits =
      whole.is_negative ? 0 - whole.magnitude : whole.magnitude;
  return bits & ~std::uint64_t{0} >> (64 - 8 * size_of(dtype));
}

std::uint64_t Scalar::bits_as(DType dtype, bool is_imaginary) const {
  if (static_cast<std::size_t>(dtype) >= kDTypeCount)
    throw InvalidArgument(concat("scalar: expected a dtype below ", kDTypeCount,
                                 ", got ", static_cast<int>(dtype)));
  if (is_complex() && !gpuos::is_complex(dtype)) {
    throw InvalidArgument(concat("scalar: expected a real number for ",
                                 name_of(dtype), ", got (", complex_.real, ", ",
                                 complex_.imag, ")"));
  }
  switch (dtype) {
    case DType::Float32:
      return std::bit_cast<std::uint32_t>(single());
    case DType::Float64:
      return std::bit_cast<std::uint64_t>(real());
    case DType::Complex64:
      return std::bit_cast<std::uint64_t>(std::array{
          single(), is_complex() ? static_cast<float>(complex_.imag) : 0.0f});
    case DType::Complex128:
      if (!is_imaginary) return std::bit_cast<std::uint64_t>(real());
      return std::bit_cast<std::uint64_t>(is_complex() ? complex_.imag : 0.0);
    default:
      break;
  }
  return is_short_float(dtype) ? rounded_bits(sticky_real(), format_of(dtype))
                               : whole_bits_as(dtype);
}

}  // namespace gpuos
