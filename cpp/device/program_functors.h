// The functions of programs as types.
#pragma once

#include "program_values.h"

namespace gpuos {
namespace program {

#define GPUOS_FUNCTOR1(name, function, ...)   \
  struct name##Function {                     \
    template <typename T>                     \
    static GPUOS_DEVICE auto of(T x) {        \
      return fn::function(x);                 \
    }                                         \
  };
#define GPUOS_FUNCTOR2(name, function, ...)   \
  struct name##Function {                     \
    template <typename T>                     \
    static GPUOS_DEVICE auto of(T x, T y) {   \
      return fn::function(x, y);              \
    }                                         \
  };
GPUOS_UNARY_CODES(GPUOS_FUNCTOR1)
GPUOS_BINARY_CODES(GPUOS_FUNCTOR2)
GPUOS_COMPARISON_CODES(GPUOS_FUNCTOR2)
GPUOS_TEST_CODES(GPUOS_FUNCTOR1)
GPUOS_PART_CODES(GPUOS_FUNCTOR1)
GPUOS_REDUCTION_CODES(GPUOS_FUNCTOR2)
#undef GPUOS_FUNCTOR1
#undef GPUOS_FUNCTOR2

}  // namespace program
}  // namespace gpuos
