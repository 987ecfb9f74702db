// The built-in operators as their own translation unit, and their table.
#include "builtin_operators.h"

#define GPUOS_DEFINE_DTYPE(suffix, type, name, inputs, expression)        \
  GPUOS_OPERATOR(name##_##suffix) {                                       \
    gpuos::run_builtin<type, inputs>(                                     \
        task, lane,                                                       \
        [=]([[maybe_unused]] const type* x,                               \
            [[maybe_unused]] type value) -> type { return expression; }); \
  }
#define GPUOS_DEFINE(name, inputs, scalars, ...) \
  GPUOS_BUILTIN_DTYPES(GPUOS_DEFINE_DTYPE, name, inputs, (__VA_ARGS__))
GPUOS_BUILTIN_OPERATORS(GPUOS_DEFINE)

#define GPUOS_ROW_DTYPE(suffix, type, name) gpuos_op_##name##_##suffix,
#define GPUOS_ROW(name, inputs, scalars, ...) \
  GPUOS_BUILTIN_DTYPES(GPUOS_ROW_DTYPE, name)

extern "C" {
// program_interpreter.cu
GPUOS_DEVICE void gpuos_op_program(gpuos::Task task, gpuos::Lane lane);

// The worker copies this into the first slots of its operator table.
GPUOS_ENTRY gpuos::OpFn gpuos_builtin_table[gpuos::kInterpreterSlot + 1] = {
    GPUOS_BUILTIN_OPERATORS(GPUOS_ROW) gpuos_op_program};
}
