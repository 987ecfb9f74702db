// The instructions of the programs' interpreter. The host compiler, nvcc and
// NVRTC read them.
#pragma once

#include "gpuos/dtype_list.h"
#include "gpuos/vocabulary.h"
#include "task_abi.h"

namespace gpuos {
namespace program {

// The types in which values are computed. Bool and narrow integers have 32
// bits, and short floats become float.
enum Type : u32 { kF32, kF64, kI32, kU32, kI64, kU64, kC64, kC128 };
enum : u32 { kTypeBits = 3, kTypeCount = 8 };

// Sets of types.
enum Types : u32 {
  kReals = 1 << kF32 | 1 << kF64,
  kShortIntegers = 1 << kI32 | 1 << kU32,
  kIntegers = 1 << kI32 | 1 << kU32 | 1 << kI64 | 1 << kU64,
  kOrdered = kReals | kIntegers,
  kComplexes = 1 << kC64 | 1 << kC128,
  kFields = kReals | kComplexes,
  kAll = kOrdered | kComplexes
};

GPUOS_DEVICE constexpr bool has(u32 types, u32 type) {
  return (types >> type & 1) != 0;
}

// X(code, bytes in memory). The lists lack Load128 and Store128, which have 16
// bytes.
#define GPUOS_LOAD_CODES(X) \
  X(LoadI8, signed char)    \
  X(LoadU8, unsigned char)  \
  X(LoadBool, Flag)         \
  X(LoadI16, short)         \
  X(LoadU16, u16)           \
  X(Load32, u32)            \
  X(Load64, u64)            \
  GPUOS_SHORT_FLOATS(GPUOS_LOAD_SHORT, X)
#define GPUOS_LOAD_SHORT(X, name, text, bytes, Stored, ...) \
  X(Load##Stored, Stored)

#define GPUOS_STORE_CODES(X) \
  X(Store8, unsigned char)   \
  X(Store16, u16)            \
  X(Store32, u32)            \
  X(Store64, u64)            \
  GPUOS_SHORT_FLOATS(GPUOS_STORE_SHORT, X)
#define GPUOS_STORE_SHORT(X, name, text, bytes, Stored, ...) \
  X(Store##Stored, Stored)

// X(code, type): converts from the type in the opcode.
#define GPUOS_CONVERSION_CODES(X) \
  X(ToF32, float)                 \
  X(ToF64, double)                \
  X(ToI32, i32)                   \
  X(ToU32, u32)                   \
  X(ToI64, i64)                   \
  X(ToU64, u64)                   \
  X(ToC64, C64)                   \
  X(ToC128, C128)                 \
  X(ToBool, bool)

// X(code, function, types): rounds values as a narrow type would hold them.
#define GPUOS_NARROWING_CODES(X)                   \
  X(WrapI8, WrapTo<signed char>, kShortIntegers)   \
  X(WrapU8, WrapTo<unsigned char>, kShortIntegers) \
  X(WrapI16, WrapTo<short>, kShortIntegers)        \
  X(WrapU16, WrapTo<u16>, kShortIntegers)          \
  GPUOS_SHORT_FLOATS(GPUOS_ROUND_SHORT, X)
#define GPUOS_ROUND_SHORT(X, name, text, bytes, Stored, ...) \
  X(Round##Stored, RoundTo<Stored>, kReals)

#define GPUOS_NAME(name, ...) name,
#define GPUOS_NAME_STAGES(name, ...) name##Init, name##Step, name##Join,
enum class Code : u32 {
  GPUOS_LOAD_CODES(GPUOS_NAME) GPUOS_STORE_CODES(GPUOS_NAME) Load128,
  Store128,
  Scalar32,
  Scalar64,
  Scalar128,
  Copy32,
  Copy64,
  Where,
  LogicalNot,
  ComplexAbs,
  GPUOS_CONVERSION_CODES(GPUOS_NAME) GPUOS_NARROWING_CODES(GPUOS_NAME)
  // The codes of these groups have functions of four elements too. The two
  // names with a value take no code: the next name gets the code of the one
  // before.
  FirstOfFour,
  BeforeFour = FirstOfFour - 1,
  GPUOS_UNARY_FUNCTIONS(GPUOS_NAME) GPUOS_BINARY_FUNCTIONS(GPUOS_NAME)
      GPUOS_COMPARISONS(GPUOS_NAME) EndOfFour,
  LastOfFour = EndOfFour - 1,
  GPUOS_TESTS(GPUOS_NAME) GPUOS_PARTS(GPUOS_NAME) GPUOS_SUMS(GPUOS_NAME_STAGES)
      GPUOS_PLACES(GPUOS_NAME_STAGES) Count
};
#undef GPUOS_NAME
#undef GPUOS_NAME_STAGES

// Returns the code that takes each value, given that of a reduction's join.
GPUOS_DEVICE constexpr Code step_of(Code join) {
  return static_cast<Code>(static_cast<u32>(join) - 1);
}

}  // namespace program
}  // namespace gpuos
