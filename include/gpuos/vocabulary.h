// The functions of programs. One line here is the operation (gpuos::Op), the
// function of values in C++ and in Python, NumPy's ufunc in a fused function,
// the opcode of both interpreters, the call in compiled code, the recipe of
// requests, the row of docs/programs.md, and what tests and random programs are
// made of. To add one: its line, and its definition for each type in
// cpp/device/functions_*.h. Read by host compilers, nvcc and NVRTC.
#pragma once

// X(name, function, numpy, rule, types, traits)
//   name      in Op and Code; the order says nothing
//   function  in gpuos::fn
//   numpy     what NumPy, or else PyTorch, calls it
//   rule      OpRule: the dtypes of operands and result
//   types     what it is defined for, of those values are computed in
//   traits    see Traits in cpp/program/passes/operations.h

// The result has the operand's type.
#define GPUOS_UNARY_FUNCTIONS(X)                                          \
  X(Negative, neg, negative, Arithmetic, kAll, kNone)                     \
  X(Square, square, square, Arithmetic, kAll, kNone)                      \
  X(Reciprocal, reciprocal, reciprocal, Arithmetic, kAll, kNone)          \
  X(Sign, sign, sign, Arithmetic, kOrdered, kStays)                       \
  X(Floor, floor, floor, Arithmetic, kReals, kStays | kInReal)            \
  X(Ceil, ceil, ceil, Arithmetic, kReals, kStays | kInReal)               \
  X(Trunc, trunc, trunc, Arithmetic, kReals, kStays | kInReal)            \
  X(Conjugate, conj, conjugate, Arithmetic, kComplexes, kNone)            \
  X(Absolute, abs, absolute, Parts, kOrdered, kNone)                      \
  X(Invert, bit_not, invert, Integer, kIntegers, kNone)                   \
  X(Rint, round, rint, Real, kReals, kStays | kLong | kInReal)            \
  X(Exp, exp, exp, Real, kFields, kLong | kInReal)                        \
  X(Exp2, exp2, exp2, Real, kReals, kLong | kInReal)                      \
  X(Expm1, expm1, expm1, Real, kReals, kLong | kInReal)                   \
  X(Log, log, log, Real, kFields, kLong | kInReal)                        \
  X(Log2, log2, log2, Real, kReals, kLong | kInReal)                      \
  X(Log10, log10, log10, Real, kReals, kLong | kInReal)                   \
  X(Log1p, log1p, log1p, Real, kReals, kLong | kInReal)                   \
  X(Sqrt, sqrt, sqrt, Real, kFields, kLong | kInReal)                     \
  X(Rsqrt, rsqrt, rsqrt, Real, kReals, kLong | kInReal)                   \
  X(Cbrt, cbrt, cbrt, Real, kReals, kLong | kInReal)                      \
  X(Sin, sin, sin, Real, kReals, kLong | kInReal)                         \
  X(Cos, cos, cos, Real, kReals, kLong | kInReal)                         \
  X(Tan, tan, tan, Real, kReals, kLong | kInReal)                         \
  X(Arcsin, asin, arcsin, Real, kReals, kLong | kInReal)                  \
  X(Arccos, acos, arccos, Real, kReals, kLong | kInReal)                  \
  X(Arctan, atan, arctan, Real, kReals, kLong | kInReal)                  \
  X(Sinh, sinh, sinh, Real, kReals, kLong | kInReal)                      \
  X(Cosh, cosh, cosh, Real, kReals, kLong | kInReal)                      \
  X(Tanh, tanh, tanh, Real, kReals, kLong | kInReal)                      \
  X(Arcsinh, asinh, arcsinh, Real, kReals, kLong | kInReal)               \
  X(Arccosh, acosh, arccosh, Real, kReals, kLong | kInReal)               \
  X(Arctanh, atanh, arctanh, Real, kReals, kLong | kInReal)               \
  X(Erf, erf, erf, Real, kReals, kLong | kInReal)                         \
  X(Erfc, erfc, erfc, Real, kReals, kLong | kInReal)                      \
  X(Lgamma, lgamma, lgamma, Real, kReals, kLong | kInReal)                \
  X(Sinc, sinc, sinc, Division, kReals, kLong | kInReal)                  \
  X(Sigmoid, sigmoid, sigmoid, Real, kReals, kLong | kInReal | kInNeural) \
  X(Silu, silu, silu, Real, kReals, kLong | kInReal | kInNeural)          \
  X(Gelu, gelu, gelu, Real, kReals, kLong | kInReal | kInNeural)          \
  X(GeluTanh, gelu_tanh, gelu_tanh, Real, kReals, kLong | kInReal | kInNeural)

#define GPUOS_BINARY_FUNCTIONS(X)                                      \
  X(Add, add, add, Arithmetic, kAll, kNone)                            \
  X(Subtract, sub, subtract, Arithmetic, kAll, kNone)                  \
  X(Multiply, mul, multiply, Arithmetic, kAll, kNone)                  \
  X(Divide, div, divide, Division, kFields, kLong)                     \
  X(FloorDivide, floor_div, floor_divide, Arithmetic, kOrdered, kLong) \
  X(Remainder, floor_mod, remainder, Arithmetic, kOrdered, kLong)      \
  X(Fmod, fmod, fmod, Arithmetic, kOrdered, kLong)                     \
  X(Power, pow, power, Arithmetic, kOrdered, kLong | kInReal)          \
  X(Maximum, maximum, maximum, Arithmetic, kOrdered, kStays)           \
  X(Minimum, minimum, minimum, Arithmetic, kOrdered, kStays)           \
  X(Fmax, fmax, fmax, Arithmetic, kOrdered, kStays)                    \
  X(Fmin, fmin, fmin, Arithmetic, kOrdered, kStays)                    \
  X(Arctan2, atan2, arctan2, Real, kReals, kLong | kInReal)            \
  X(Hypot, hypot, hypot, Real, kReals, kLong | kInReal)                \
  X(Logaddexp, logaddexp, logaddexp, Real, kReals, kLong | kInReal)    \
  X(Logaddexp2, logaddexp2, logaddexp2, Real, kReals, kLong | kInReal) \
  X(Ldexp, ldexp, ldexp, Real, kReals, kLong | kInReal)                \
  X(Nextafter, nextafter, nextafter, Real, kReals, kInReal)            \
  X(Copysign, copysign, copysign, Real, kReals, kStays)                \
  X(Heaviside, heaviside, heaviside, Real, kReals, kNone)              \
  X(BitwiseAnd, bit_and, bitwise_and, Integer, kIntegers, kStays)      \
  X(BitwiseOr, bit_or, bitwise_or, Integer, kIntegers, kStays)         \
  X(BitwiseXor, bit_xor, bitwise_xor, Integer, kIntegers, kStays)      \
  X(LeftShift, shift_left, left_shift, Integer, kIntegers, kNone)      \
  X(RightShift, shift_right, right_shift, Integer, kIntegers, kNone)

// Functions of two operands. The result is 0 or 1.
#define GPUOS_COMPARISONS(X)                                        \
  X(Less, less, less, Comparison, kOrdered, kNone)                  \
  X(LessEqual, less_equal, less_equal, Comparison, kOrdered, kNone) \
  X(Equal, equal, equal, Comparison, kAll, kNone)                   \
  X(NotEqual, not_equal, not_equal, Comparison, kAll, kNone)

// Functions of one operand. The result is 0 or 1.
#define GPUOS_TESTS(X)                                  \
  X(Isnan, isnan, isnan, Test, kFields, kNone)          \
  X(Isinf, isinf, isinf, Test, kFields, kNone)          \
  X(Isfinite, isfinite, isfinite, Test, kFields, kNone) \
  X(Signbit, signbit, signbit, Test, kReals, kNone)

// Functions of a complex operand. The result is a part of it.
#define GPUOS_PARTS(X)                              \
  X(RealPart, real, real, Parts, kComplexes, kNone) \
  X(ImaginaryPart, imag, imag, Parts, kComplexes, kNone)

// X(name, function that puts two values together, numpy, types)
#define GPUOS_SUMS(X)            \
  X(Sum, add, sum, kAll)         \
  X(Prod, mul, prod, kAll)       \
  X(Max, maximum, max, kOrdered) \
  X(Min, minimum, min, kOrdered)

// X(name, which of two values is taken, numpy, types): the result is a place.
#define GPUOS_PLACES(X)             \
  X(Argmax, less, argmax, kOrdered) \
  X(Argmin, greater, argmin, kOrdered)
