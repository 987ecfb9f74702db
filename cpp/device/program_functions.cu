// The tables of the interpreter's functions, by opcode.
#include "interpreter/functors.h"

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
      function_of<F, C64, has(types, kC64)>(),    \
      function_of<F, C128, has(types, kC128)>(),
// Functions of four elements, for the types where they are faster.
#define GPUOS_ROW_OF_FOUR(F, types)               \
  four_of<F, float, has(types, kF32)>(), nullptr, \
      four_of<F, i32, has(types, kI32)>(),        \
      four_of<F, u32, has(types, kU32)>(), nullptr, nullptr, nullptr, nullptr,
#define GPUOS_EMPTY_ROW \
  nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
#define GPUOS_EMPTY(...) GPUOS_EMPTY_ROW

#define GPUOS_FUNCTION_ROW(name, function, numpy, rule, types, ...) \
  GPUOS_ROW(name##Function, types)
#define GPUOS_CONVERSION_ROW(name, To) \
  GPUOS_ROW(ConversionFunction<Conversion<To>>, kAll)
#define GPUOS_NARROWING_ROW(name, Narrow, types) \
  GPUOS_ROW(ConversionFunction<Narrow>, types)
#define GPUOS_SUM_ROWS(name, function, numpy, types) \
  GPUOS_ROW(name##First, types)                      \
  GPUOS_ROW(name##Function, types)                   \
  GPUOS_ROW(name##Function, types)
#define GPUOS_PLACE_ROWS(name, function, numpy, types) \
  GPUOS_ROW(name##First, types)                        \
  GPUOS_ROW(name##Order, types)                        \
  GPUOS_ROW(name##Order, types)

}  // namespace

// clang-format off
// In the order of Code.
__device__ AnyFunction gpuos_program_functions[] = {
    GPUOS_LOAD_CODES(GPUOS_EMPTY)
    GPUOS_STORE_CODES(GPUOS_EMPTY)
    GPUOS_EMPTY_ROW  // Load128
    GPUOS_EMPTY_ROW  // Store128
    GPUOS_EMPTY_ROW  // Scalar32
    GPUOS_EMPTY_ROW  // Scalar64
    GPUOS_EMPTY_ROW  // Scalar128
    GPUOS_ROW(CopyFunction, kAll & ~(1 << kC128))
    GPUOS_ROW(CopyFunction, kAll & ~(1 << kC128))
    GPUOS_EMPTY_ROW  // Where
    GPUOS_ROW(ConversionFunction<NotFunction>, kShortIntegers)
    GPUOS_ROW(ComplexAbsFunction, kComplexes)
    GPUOS_CONVERSION_CODES(GPUOS_CONVERSION_ROW)
    GPUOS_NARROWING_CODES(GPUOS_NARROWING_ROW)
    GPUOS_UNARY_FUNCTIONS(GPUOS_FUNCTION_ROW)
    GPUOS_BINARY_FUNCTIONS(GPUOS_FUNCTION_ROW)
    GPUOS_COMPARISONS(GPUOS_FUNCTION_ROW)
    GPUOS_TESTS(GPUOS_FUNCTION_ROW)
    GPUOS_PARTS(GPUOS_FUNCTION_ROW)
    GPUOS_SUMS(GPUOS_SUM_ROWS)
    GPUOS_PLACES(GPUOS_PLACE_ROWS)};

static_assert(sizeof(gpuos_program_functions) / sizeof(AnyFunction) ==
                  static_cast<u32>(Code::Count) << kTypeBits,
              "a row for each code");

#define GPUOS_FOUR(name, function, numpy, rule, types, ...) \
  GPUOS_ROW_OF_FOUR(name##Function, types)
// From FirstOfFour on.
__device__ FunctionOfFour gpuos_program_functions_of_four[] = {
    GPUOS_UNARY_FUNCTIONS(GPUOS_FOUR)
    GPUOS_BINARY_FUNCTIONS(GPUOS_FOUR)
    GPUOS_COMPARISONS(GPUOS_FOUR)};
// clang-format on

static_assert(
    sizeof(gpuos_program_functions_of_four) / sizeof(FunctionOfFour) ==
        static_cast<u32>(Code::EndOfFour) - static_cast<u32>(Code::FirstOfFour)
            << kTypeBits,
    "a row for each code of these groups");

}  // namespace program
}  // namespace gpuos
