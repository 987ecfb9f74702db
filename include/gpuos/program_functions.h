#pragma once

#include <complex>
#include <concepts>
#include <initializer_list>
#include <optional>
#include <span>

#include "gpuos/program.h"

namespace gpuos {

/// What a function of programs takes: a value, or a number that is the same in
/// every call and takes the dtype of what it meets.
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
  Operand(std::complex<float> number)  // NOLINT(google-explicit-constructor)
      : number_(Scalar(number)) {}
  Operand(const Scalar& number)  // NOLINT(google-explicit-constructor)
      : number_(number) {}

  bool is_number() const noexcept { return number_.has_value(); }
  bool is_bool() const noexcept { return is_bool_; }
  const Value& value() const noexcept { return value_; }
  /// If is_number().
  const Scalar& number() const noexcept { return *number_; }

 private:
  Value value_;
  std::optional<Scalar> number_;
  bool is_bool_ = false;
};

/// One operation, with numbers among the operands. Beyond apply() it does what
/// NumPy 2 does: integers of any dtypes are compared exactly, and a power whose
/// exponent is the number 2, 1, 0.5 or -1 is a square, a copy, a root or a
/// reciprocal, also of a complex value.
/// Throws: InvalidArgument if no operand is a value, and as apply().
Value elementwise(Op op, std::span<const Operand> operands);
inline Value elementwise(Op op, std::initializer_list<Operand> operands) {
  return elementwise(op, std::span(operands.begin(), operands.size()));
}
/// A number as a value of the program that `like` is of.
Value literal_of(const Operand& number, const Value& like);

// X(NumPy's name, operation): functions of one operand.
#define GPUOS_UNARY_VALUE_FUNCTIONS(X) \
  X(negative, Negative)                \
  X(square, Square)                    \
  X(reciprocal, Reciprocal)            \
  X(sign, Sign)                        \
  X(floor, Floor)                      \
  X(ceil, Ceil)                        \
  X(trunc, Trunc)                      \
  X(rint, Rint)                        \
  X(conjugate, Conjugate)              \
  X(absolute, Absolute)                \
  X(real, RealPart)                    \
  X(imag, ImaginaryPart)               \
  X(exp, Exp)                          \
  X(exp2, Exp2)                        \
  X(expm1, Expm1)                      \
  X(log, Log)                          \
  X(log2, Log2)                        \
  X(log10, Log10)                      \
  X(log1p, Log1p)                      \
  X(sqrt, Sqrt)                        \
  X(rsqrt, Rsqrt)                      \
  X(cbrt, Cbrt)                        \
  X(sin, Sin)                          \
  X(cos, Cos)                          \
  X(tan, Tan)                          \
  X(arcsin, Arcsin)                    \
  X(arccos, Arccos)                    \
  X(arctan, Arctan)                    \
  X(sinh, Sinh)                        \
  X(cosh, Cosh)                        \
  X(tanh, Tanh)                        \
  X(arcsinh, Arcsinh)                  \
  X(arccosh, Arccosh)                  \
  X(arctanh, Arctanh)                  \
  X(erf, Erf)                          \
  X(erfc, Erfc)                        \
  X(lgamma, Lgamma)                    \
  X(sigmoid, Sigmoid)                  \
  X(silu, Silu)                        \
  X(gelu, Gelu)                        \
  X(gelu_tanh, GeluTanh)               \
  X(isnan, Isnan)                      \
  X(isinf, Isinf)                      \
  X(isfinite, Isfinite)                \
  X(signbit, Signbit)                  \
  X(invert, Invert)

// X(NumPy's name, operation): functions of two operands.
#define GPUOS_BINARY_VALUE_FUNCTIONS(X) \
  X(add, Add)                           \
  X(subtract, Subtract)                 \
  X(multiply, Multiply)                 \
  X(divide, Divide)                     \
  X(floor_divide, FloorDivide)          \
  X(remainder, Remainder)               \
  X(fmod, Fmod)                         \
  X(power, Power)                       \
  X(maximum, Maximum)                   \
  X(minimum, Minimum)                   \
  X(fmax, Fmax)                         \
  X(fmin, Fmin)                         \
  X(arctan2, Arctan2)                   \
  X(hypot, Hypot)                       \
  X(logaddexp, Logaddexp)               \
  X(copysign, Copysign)                 \
  X(heaviside, Heaviside)               \
  X(less, Less)                         \
  X(less_equal, LessEqual)              \
  X(equal, Equal)                       \
  X(not_equal, NotEqual)                \
  X(bitwise_and, BitwiseAnd)            \
  X(bitwise_or, BitwiseOr)              \
  X(bitwise_xor, BitwiseXor)            \
  X(left_shift, LeftShift)              \
  X(right_shift, RightShift)

#define GPUOS_UNARY_FUNCTION(name, op) \
  inline Value name(const Operand& x) { return elementwise(Op::op, {x}); }
GPUOS_UNARY_VALUE_FUNCTIONS(GPUOS_UNARY_FUNCTION)
#undef GPUOS_UNARY_FUNCTION

#define GPUOS_BINARY_FUNCTION(name, op)                   \
  inline Value name(const Operand& x, const Operand& y) { \
    return elementwise(Op::op, {x, y});                   \
  }
GPUOS_BINARY_VALUE_FUNCTIONS(GPUOS_BINARY_FUNCTION)
#undef GPUOS_BINARY_FUNCTION

/// x + alpha * y, and x - alpha * y.
Value add(const Operand& x, const Operand& y, const Operand& alpha);
Value subtract(const Operand& x, const Operand& y, const Operand& alpha);

Value greater(const Operand& x, const Operand& y);
Value greater_equal(const Operand& x, const Operand& y);
Value logical_and(const Operand& x, const Operand& y);
Value logical_or(const Operand& x, const Operand& y);
Value logical_xor(const Operand& x, const Operand& y);
Value logical_not(const Operand& x);
Value where(const Operand& condition, const Operand& x, const Operand& y);
/// As NumPy's astype(). Throws: InvalidArgument from complex to a real dtype.
Value astype(const Value& x, DType dtype);
/// Without a bound if it is empty. NaN stays NaN.
Value clip(const Value& x, const std::optional<Operand>& low,
           const std::optional<Operand>& high);

// As in torch.nn.functional. Half types are computed in float32 and rounded at
// the end.
Value relu(const Value& x);
Value leaky_relu(const Value& x, const Operand& slope = 0.01);
Value elu(const Value& x, const Operand& alpha = 1.0);
Value celu(const Value& x, const Operand& alpha = 1.0);
Value selu(const Value& x);
Value softplus(const Value& x, const Operand& beta = 1.0,
               const Operand& threshold = 20.0);
Value logsigmoid(const Value& x);
Value mish(const Value& x);
Value softsign(const Value& x);
Value hardsigmoid(const Value& x);
Value hardswish(const Value& x);
Value hardtanh(const Value& x, const Operand& low = -1.0,
               const Operand& high = 1.0);

inline Value operator+(const Operand& x, const Operand& y) { return add(x, y); }
inline Value operator-(const Operand& x, const Operand& y) {
  return subtract(x, y);
}
inline Value operator*(const Operand& x, const Operand& y) {
  return multiply(x, y);
}
/// True division, as Python's `/`.
inline Value operator/(const Operand& x, const Operand& y) {
  return divide(x, y);
}
/// As Python's `%`: of the divisor's sign.
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
