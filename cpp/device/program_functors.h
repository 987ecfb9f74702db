// The functions of programs as types, and which of them the interpreter calls
// instead of having a copy for each width.
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

// What takes few instructions, or is worth a copy for each width.
template <typename T>
GPUOS_DEVICE constexpr bool is_inlined(Code code) {
  switch (code) {
    case Code::Add:
    case Code::Subtract:
    case Code::Multiply:
    case Code::Negative:
    case Code::Square:
    case Code::Maximum:
    case Code::Minimum:
    case Code::Less:
    case Code::LessEqual:
    case Code::Equal:
    case Code::NotEqual:
    case Code::BitwiseAnd:
    case Code::BitwiseOr:
    case Code::BitwiseXor:
    case Code::Invert:
    case Code::Isnan:
      return true;
    case Code::Divide:
    case Code::Reciprocal:
    case Code::Absolute:
    case Code::Exp:
    case Code::Log:
    case Code::Sqrt:
    case Code::Rsqrt:
    case Code::Tanh:
    case Code::Sigmoid:
    case Code::Silu:
      return IsReal<T>::value && sizeof(T) == 4;
    default:
      return false;
  }
}

#if defined(__CUDACC__)
template <typename F, typename R, typename T>
__device__ __noinline__ R call1(T x) {
  return static_cast<R>(F::of(x));
}
template <typename F, typename R, typename T>
__device__ __noinline__ R call2(T x, T y) {
  return static_cast<R>(F::of(x, y));
}
#endif

}  // namespace program
}  // namespace gpuos
