// What the interpreter of programs can do. Read by the host compiler, nvcc and
// NVRTC.
#pragma once

#include "task_abi.h"

namespace gpuos {
namespace program {

// What values are while they are computed: bool and narrow integers are 32 bits
// wide, half types are float.
enum Type : u32 { kF32, kF64, kI32, kU32, kI64, kU64, kC64 };
enum : u32 { kTypeBits = 3, kTypeCount = 7 };

// Sets of types.
enum Types : u32 {
  kReals = 1 << kF32 | 1 << kF64,
  kIntegers = 1 << kI32 | 1 << kU32 | 1 << kI64 | 1 << kU64,
  kOrdered = kReals | kIntegers,
  kFields = kReals | 1 << kC64,
  kAll = kOrdered | 1 << kC64
};

GPUOS_DEVICE constexpr bool has(u32 types, u32 type) {
  return (types >> type & 1) != 0;
}

// X(code, function in gpuos::fn, types): the result has the operand's type.
#define GPUOS_UNARY_CODES(X)      \
  X(Negative, neg, kAll)          \
  X(Square, square, kAll)         \
  X(Reciprocal, reciprocal, kAll) \
  X(Sign, sign, kOrdered)         \
  X(Floor, floor, kReals)         \
  X(Ceil, ceil, kReals)           \
  X(Trunc, trunc, kReals)         \
  X(Conjugate, conj, 1 << kC64)   \
  X(Absolute, abs, kOrdered)      \
  X(Invert, bit_not, kIntegers)   \
  X(Rint, round, kReals)          \
  X(Exp, exp, kFields)            \
  X(Exp2, exp2, kReals)           \
  X(Expm1, expm1, kReals)         \
  X(Log, log, kFields)            \
  X(Log2, log2, kReals)           \
  X(Log10, log10, kReals)         \
  X(Log1p, log1p, kReals)         \
  X(Sqrt, sqrt, kFields)          \
  X(Rsqrt, rsqrt, kReals)         \
  X(Cbrt, cbrt, kReals)           \
  X(Sin, sin, kReals)             \
  X(Cos, cos, kReals)             \
  X(Tan, tan, kReals)             \
  X(Arcsin, asin, kReals)         \
  X(Arccos, acos, kReals)         \
  X(Arctan, atan, kReals)         \
  X(Sinh, sinh, kReals)           \
  X(Cosh, cosh, kReals)           \
  X(Tanh, tanh, kReals)           \
  X(Arcsinh, asinh, kReals)       \
  X(Arccosh, acosh, kReals)       \
  X(Arctanh, atanh, kReals)       \
  X(Erf, erf, kReals)             \
  X(Erfc, erfc, kReals)           \
  X(Lgamma, lgamma, kReals)       \
  X(Sigmoid, sigmoid, kReals)     \
  X(Silu, silu, kReals)           \
  X(Gelu, gelu, kReals)           \
  X(GeluTanh, gelu_tanh, kReals)

#define GPUOS_BINARY_CODES(X)         \
  X(Add, add, kAll)                   \
  X(Subtract, sub, kAll)              \
  X(Multiply, mul, kAll)              \
  X(Divide, div, kFields)             \
  X(FloorDivide, floor_div, kOrdered) \
  X(Remainder, floor_mod, kOrdered)   \
  X(Fmod, fmod, kOrdered)             \
  X(Power, pow, kOrdered)             \
  X(Maximum, maximum, kOrdered)       \
  X(Minimum, minimum, kOrdered)       \
  X(Fmax, fmax, kOrdered)             \
  X(Fmin, fmin, kOrdered)             \
  X(Arctan2, atan2, kReals)           \
  X(Hypot, hypot, kReals)             \
  X(Logaddexp, logaddexp, kReals)     \
  X(Copysign, copysign, kReals)       \
  X(Heaviside, heaviside, kReals)     \
  X(BitwiseAnd, bit_and, kIntegers)   \
  X(BitwiseOr, bit_or, kIntegers)     \
  X(BitwiseXor, bit_xor, kIntegers)   \
  X(LeftShift, shift_left, kIntegers) \
  X(RightShift, shift_right, kIntegers)

// The result is 0 or 1.
#define GPUOS_COMPARISON_CODES(X)    \
  X(Less, less, kOrdered)            \
  X(LessEqual, less_equal, kOrdered) \
  X(Equal, equal, kAll)              \
  X(NotEqual, not_equal, kAll)

#define GPUOS_TEST_CODES(X)      \
  X(Isnan, isnan, kFields)       \
  X(Isinf, isinf, kFields)       \
  X(Isfinite, isfinite, kFields) \
  X(Signbit, signbit, kReals)

// The result is a float.
#define GPUOS_PART_CODES(X) \
  X(ComplexAbs, abs)        \
  X(ComplexReal, real)      \
  X(ComplexImag, imag)

// X(code, function that puts two values together, types)
#define GPUOS_REDUCTION_CODES(X) \
  X(Sum, add, kAll)              \
  X(Prod, mul, kAll)             \
  X(Max, maximum, kOrdered)      \
  X(Min, minimum, kOrdered)

// X(code, which of two values is taken, types)
#define GPUOS_PLACE_CODES(X) \
  X(Argmax, less, kOrdered)  \
  X(Argmin, greater, kOrdered)

// X(code, bytes in memory)
#define GPUOS_LOAD_CODES(X) \
  X(LoadI8, signed char)    \
  X(LoadU8, unsigned char)  \
  X(LoadBool, Flag)         \
  X(LoadI16, short)         \
  X(LoadU16, u16)           \
  X(Load32, u32)            \
  X(Load64, u64)            \
  X(LoadF16, F16)           \
  X(LoadBf16, Bf16)

#define GPUOS_STORE_CODES(X) \
  X(Store8, unsigned char)   \
  X(Store16, u16)            \
  X(Store32, u32)            \
  X(Store64, u64)            \
  X(StoreF16, F16)           \
  X(StoreBf16, Bf16)

// X(code, type): from the type in the opcode.
#define GPUOS_CONVERSION_CODES(X) \
  X(ToF32, float)                 \
  X(ToF64, double)                \
  X(ToI32, i32)                   \
  X(ToU32, u32)                   \
  X(ToI64, i64)                   \
  X(ToU64, u64)                   \
  X(ToC64, C64)                   \
  X(ToBool, bool)

// Values as a narrow type would hold them.
#define GPUOS_NARROWING_CODES(X) \
  X(WrapI8)                      \
  X(WrapU8)                      \
  X(WrapI16)                     \
  X(WrapU16)                     \
  X(RoundF16)                    \
  X(RoundBf16)

#define GPUOS_NAME_CODE(name, ...) name,
#define GPUOS_NAME_REDUCTION(name, ...) name##Init, name##Step, name##Join,
enum class Code : u32 {
  GPUOS_LOAD_CODES(GPUOS_NAME_CODE) GPUOS_STORE_CODES(GPUOS_NAME_CODE) Scalar32,
  Scalar64,
  Copy32,
  Copy64,
  Where,
  LogicalNot,
  GPUOS_CONVERSION_CODES(GPUOS_NAME_CODE) GPUOS_NARROWING_CODES(GPUOS_NAME_CODE)
      GPUOS_UNARY_CODES(GPUOS_NAME_CODE) GPUOS_BINARY_CODES(GPUOS_NAME_CODE)
          GPUOS_COMPARISON_CODES(GPUOS_NAME_CODE)
              GPUOS_TEST_CODES(GPUOS_NAME_CODE)
                  GPUOS_PART_CODES(GPUOS_NAME_CODE)
                      GPUOS_REDUCTION_CODES(GPUOS_NAME_REDUCTION)
                          GPUOS_PLACE_CODES(GPUOS_NAME_REDUCTION) Count
};
#undef GPUOS_NAME_CODE
#undef GPUOS_NAME_REDUCTION

}  // namespace program
}  // namespace gpuos
