#pragma once

#include <complex>
#include <concepts>
#include <initializer_list>
#include <optional>
#include <span>

#include "gpuos/export.h"
#include "gpuos/program.h"

namespace gpuos {

/// Is an operand of a function: a value, or a number. A number is constant in
/// all calls and takes the dtype of the other operand.
class Operand {
 public:
  Operand(Value value)  // NOLINT(google-explicit-constructor)
      : value_(std::move(value)) {}
  Operand(bool number)  // NOLINT(google-explicit-constructor)
      : number_(Scalar(number)), is_bool_(true) {}
  template <typename T>
    requires std::integral<T> || std::floating_point<T>
  Operand(T number)  // NOLINT(google-explicit-constructor)
      : number_(Scalar(number)) {}
  Operand(std::complex<double> number)  // NOLINT(google-explicit-constructor)
      : number_(Scalar(number)) {}
  Operand(std::complex<float> number)  // NOLINT(google-explicit-constructor)
      : number_(Scalar(number)) {}
  Operand(const Scalar& number)  // NOLINT(google-explicit-constructor)
      : number_(number) {}

  bool is_number() const noexcept { return number_.has_value(); }
  bool is_bool() const noexcept { return is_bool_; }
  const Value& value() const noexcept { return value_; }
  /// Requires is_number().
  const Scalar& number() const noexcept { return *number_; }

 private:
  Value value_;
  std::optional<Scalar> number_;
  bool is_bool_ = false;
};

/// Adds one operation, with numbers among the operands. Unlike apply() it
/// follows NumPy 2: integers of any dtypes are compared exactly, and a power
/// with the literal exponent 2, 1, 0.5 or -1 is a square, a copy, a root or a
/// reciprocal, also of a complex value.
/// Throws: InvalidArgument if no operand is a value, and as apply().
GPUOS_API Value elementwise(Op op, std::span<const Operand> operands);
inline Value elementwise(Op op, std::initializer_list<Operand> operands) {
  return elementwise(op, std::span(operands.begin(), operands.size()));
}
/// Returns a number as a value of the program of `like`.
GPUOS_API Value literal_of(const Operand& number, const Value& like);

// The vocabulary's functions, by NumPy's names.
#define GPUOS_OF_ONE(name, function, numpy, ...) \
  inline Value numpy(const Operand& x) { return elementwise(Op::name, {x}); }
GPUOS_UNARY_FUNCTIONS(GPUOS_OF_ONE)
GPUOS_TESTS(GPUOS_OF_ONE)
GPUOS_PARTS(GPUOS_OF_ONE)
#undef GPUOS_OF_ONE

#define GPUOS_OF_TWO(name, function, numpy, ...)           \
  inline Value numpy(const Operand& x, const Operand& y) { \
    return elementwise(Op::name, {x, y});                  \
  }
GPUOS_BINARY_FUNCTIONS(GPUOS_OF_TWO)
GPUOS_COMPARISONS(GPUOS_OF_TWO)
#undef GPUOS_OF_TWO

/// Returns x + alpha * y, or x - alpha * y.
GPUOS_API Value add(const Operand& x, const Operand& y, const Operand& alpha);
GPUOS_API Value subtract(const Operand& x, const Operand& y,
                         const Operand& alpha);

GPUOS_API Value greater(const Operand& x, const Operand& y);
GPUOS_API Value greater_equal(const Operand& x, const Operand& y);
GPUOS_API Value logical_and(const Operand& x, const Operand& y);
GPUOS_API Value logical_or(const Operand& x, const Operand& y);
GPUOS_API Value logical_xor(const Operand& x, const Operand& y);
GPUOS_API Value logical_not(const Operand& x);
GPUOS_API Value where(const Operand& condition, const Operand& x,
                      const Operand& y);
/// Converts as NumPy's astype() does. Throws: InvalidArgument from complex to a
/// real dtype.
GPUOS_API Value astype(const Value& x, DType dtype);
/// Limits elements to the bounds that are given. NaN stays NaN.
GPUOS_API Value clip(const Value& x, const std::optional<Operand>& low,
                     const std::optional<Operand>& high);

// The functions of torch.nn.functional. Half types are computed in float32 and
// rounded at the end.
GPUOS_API Value relu(const Value& x);
GPUOS_API Value leaky_relu(const Value& x, const Operand& slope = 0.01);
GPUOS_API Value elu(const Value& x, const Operand& alpha = 1.0);
GPUOS_API Value celu(const Value& x, const Operand& alpha = 1.0);
GPUOS_API Value selu(const Value& x);
GPUOS_API Value softplus(const Value& x, const Operand& beta = 1.0,
                         const Operand& threshold = 20.0);
GPUOS_API Value logsigmoid(const Value& x);
GPUOS_API Value mish(const Value& x);
GPUOS_API Value softsign(const Value& x);
GPUOS_API Value hardsigmoid(const Value& x);
GPUOS_API Value hardswish(const Value& x);
GPUOS_API Value hardtanh(const Value& x, const Operand& low = -1.0,
                         const Operand& high = 1.0);

inline Value operator+(const Operand& x, const Operand& y) { return add(x, y); }
inline Value operator-(const Operand& x, const Operand& y) {
  return subtract(x, y);
}
inline Value operator*(const Operand& x, const Operand& y) {
  return multiply(x, y);
}
/// Computes Python's `/`, the true division.
inline Value operator/(const Operand& x, const Operand& y) {
  return divide(x, y);
}
/// Computes Python's `%`: the result has the divisor's sign.
inline Value operator%(const Operand& x, const Operand& y) {
  return remainder(x, y);
}
inline Value operator&(const Operand& x, const Operand& y) {
  return bitwise_and(x, y);
}
inline Value operator|(const Operand& x, const Operand& y) {
  return bitwise_or(x, y);
}
inline Value operator^(const Operand& x, const Operand& y) {
  return bitwise_xor(x, y);
}
inline Value operator<<(const Operand& x, const Operand& y) {
  return left_shift(x, y);
}
inline Value operator>>(const Operand& x, const Operand& y) {
  return right_shift(x, y);
}
inline Value operator<(const Operand& x, const Operand& y) {
  return less(x, y);
}
inline Value operator<=(const Operand& x, const Operand& y) {
  return less_equal(x, y);
}
inline Value operator>(const Operand& x, const Operand& y) {
  return greater(x, y);
}
inline Value operator>=(const Operand& x, const Operand& y) {
  return greater_equal(x, y);
}
inline Value operator==(const Operand& x, const Operand& y) {
  return equal(x, y);
}
inline Value operator!=(const Operand& x, const Operand& y) {
  return not_equal(x, y);
}
inline Value operator-(const Value& x) { return negative(x); }
inline Value operator~(const Value& x) { return invert(x); }

}  // namespace gpuos
