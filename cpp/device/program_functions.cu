// The tables of the interpreter's functions, by opcode.
#include "program_functors.h"

namespace gpuos {
namespace program {
namespace {

// One row: a code's functions for each type.
#define GPUOS_ROW(F, types)                       \
  function_of<F, float, has(types, kF32)>(),      \
      function_of<F, double, has(types, kF64)>(), \
      function_of<F, i32, has(types, kI32)>(),    \
      function_of<F, u32, has(types, kU32)>(),    \
      function_of<F, i64, has(types, kI64)>(),    \
      function_of<F, u64, has(types, kU64)>(),    \
      function_of<F, C64, has(types, kC64)>(), nullptr,
// The same for four elements: what is worth it.
#define GPUOS_ROW_OF_FOUR(F, types)               \
  four_of<F, float, has(types, kF32)>(), nullptr, \
      four_of<F, i32, has(types, kI32)>(),        \
      four_of<F, u32, has(types, kU32)>(), nullptr, nullptr, nullptr, nullptr,
#define GPUOS_EMPTY_ROW \
  nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
#define GPUOS_EMPTY(...) GPUOS_EMPTY_ROW

#define GPUOS_FUNCTION_ROW(name, function, types) \
  GPUOS_ROW(name##Function, types)
#define GPUOS_PART_ROW(name, function) GPUOS_ROW(name##Function, 1 << kC64)
#define GPUOS_CONVERSION_ROW(name, To) \
  GPUOS_ROW(ConversionFunction<Conversion<To>>, kAll)
#define GPUOS_REDUCTION_ROW(name, function, types) \
  GPUOS_ROW(name##First, types)                    \
  GPUOS_ROW(name##Function, types)                 \
  GPUOS_ROW(name##Function, types)
#define GPUOS_NARROW 1 << kI32 | 1 << kU32

}  // namespace

// In the order of Code.
__device__ Function gpuos_program_functions[] = {
    GPUOS_LOAD_CODES(GPUOS_EMPTY) GPUOS_STORE_CODES(
        GPUOS_EMPTY) GPUOS_EMPTY_ROW  // Scalar32
        GPUOS_EMPTY_ROW               // Scalar64
            GPUOS_ROW(CopyFunction, kAll) GPUOS_ROW(
                CopyFunction, kAll) GPUOS_EMPTY_ROW  // Where
                GPUOS_ROW(ConversionFunction<NotFunction>, GPUOS_NARROW)
                    GPUOS_CONVERSION_CODES(GPUOS_CONVERSION_ROW) GPUOS_ROW(
                        ConversionFunction<WrapTo<signed char>>, GPUOS_NARROW)
                        GPUOS_ROW(
                            ConversionFunction<WrapTo<unsigned char>>,
                            GPUOS_NARROW) GPUOS_ROW(ConversionFunction<WrapTo<short>>,
                                                    GPUOS_NARROW)
                            GPUOS_ROW(ConversionFunction<WrapTo<u16>>,
                                      GPUOS_NARROW)
                                GPUOS_ROW(ConversionFunction<RoundToF16>,
                                          kReals)
                                    GPUOS_ROW(
                                        ConversionFunction<RoundToBf16>,
                                        kReals) GPUOS_UNARY_CODES(GPUOS_FUNCTION_ROW)
                                        GPUOS_BINARY_CODES(GPUOS_FUNCTION_ROW)
                                            GPUOS_COMPARISON_CODES(
                                                GPUOS_FUNCTION_ROW)
                                                GPUOS_TEST_CODES(
                                                    GPUOS_FUNCTION_ROW)
                                                    GPUOS_PART_CODES(
                                                        GPUOS_PART_ROW)
                                                        GPUOS_REDUCTION_CODES(
                                                            GPUOS_REDUCTION_ROW)
                                                            GPUOS_ROW(
                                                                MaxFirst,
                                                                kOrdered)  // Argmax
    GPUOS_ROW(PlaceOrder<true>, kOrdered) GPUOS_ROW(PlaceOrder<true>, kOrdered)
        GPUOS_ROW(MinFirst, kOrdered)  // Argmin
    GPUOS_ROW(PlaceOrder<false>, kOrdered)
        GPUOS_ROW(PlaceOrder<false>, kOrdered)};

static_assert(sizeof(gpuos_program_functions) / sizeof(Function) ==
                  static_cast<u32>(Code::Count) << kTypeBits,
              "a row for each code");

// For codes from Negative on.
#define GPUOS_FOUR(name, function, types) \
  GPUOS_ROW_OF_FOUR(name##Function, types)
__device__ FunctionOfFour gpuos_program_functions_of_four[] = {
    GPUOS_UNARY_CODES(GPUOS_FOUR) GPUOS_BINARY_CODES(GPUOS_FOUR)
        GPUOS_COMPARISON_CODES(GPUOS_FOUR)};

}  // namespace program
}  // namespace gpuos
