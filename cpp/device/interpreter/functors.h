// The functions of programs as types whose function the interpreter calls by
// address. Values are passed as bits.
#pragma once

#include "functions.h"
#include "interpreter/values.h"

namespace gpuos {
namespace program {

// Computes one element.
using Function = u64 (*)(u64 a, u64 b);

// Holds four elements of 32 bits, or one element whose operands or result have
// 128 bits.
struct alignas(16) Four {
  u32 values[4];
};
using FunctionOfFour = Four (*)(Four a, Four b);

// One of the two, depending on whether it takes or makes 128 bits.
union AnyFunction {
  Function one;
  FunctionOfFour four;

  AnyFunction() = default;
  __device__ constexpr AnyFunction(decltype(nullptr)) : one(nullptr) {}
  __device__ constexpr AnyFunction(Function function) : one(function) {}
  __device__ constexpr AnyFunction(FunctionOfFour function) : four(function) {}
};
static_assert(sizeof(AnyFunction) == sizeof(u64), "an address");

template <typename T>
__device__ inline u64 to_bits(T value) {
  if constexpr (sizeof(T) == 8)
    return bit_cast<u64>(value);
  else
    return bit_cast<u32>(value);
}
__device__ inline u64 to_bits(bool value) { return value; }

#define GPUOS_FUNCTOR1(name, function, ...)   \
  struct name##Function {                     \
    template <typename T>                     \
    static __device__ T of(T x, T) {          \
      return static_cast<T>(fn::function(x)); \
    }                                         \
  };
#define GPUOS_FUNCTOR2(name, function, ...)      \
  struct name##Function {                        \
    template <typename T>                        \
    static __device__ T of(T x, T y) {           \
      return static_cast<T>(fn::function(x, y)); \
    }                                            \
  };
#define GPUOS_COMPARISON(name, function, ...) \
  struct name##Function {                     \
    template <typename T>                     \
    static __device__ u32 of(T x, T y) {      \
      return fn::function(x, y) ? 1 : 0;      \
    }                                         \
  };
#define GPUOS_TEST(name, function, ...) \
  struct name##Function {               \
    template <typename T>               \
    static __device__ u32 of(T x, T) {  \
      return fn::function(x) ? 1 : 0;   \
    }                                   \
  };
#define GPUOS_PART(name, function, ...)                         \
  struct name##Function {                                       \
    template <typename Part>                                    \
    static __device__ Part of(Complex<Part> x, Complex<Part>) { \
      return fn::function(x);                                   \
    }                                                           \
  };
GPUOS_UNARY_FUNCTIONS(GPUOS_FUNCTOR1)
GPUOS_BINARY_FUNCTIONS(GPUOS_FUNCTOR2)
GPUOS_COMPARISONS(GPUOS_COMPARISON)
GPUOS_TESTS(GPUOS_TEST)
GPUOS_PARTS(GPUOS_PART)
GPUOS_PART(ComplexAbs, abs)
GPUOS_SUMS(GPUOS_FUNCTOR2)
#undef GPUOS_FUNCTOR1
#undef GPUOS_FUNCTOR2
#undef GPUOS_COMPARISON
#undef GPUOS_TEST
#undef GPUOS_PART

template <typename Converter>
struct ConversionFunction {
  template <typename T>
  static __device__ auto of(T x, T) {
    return Converter::of(x);
  }
};
struct CopyFunction {
  template <typename T>
  static __device__ T of(T x, T) {
    return x;
  }
};

// Reductions begin with these values.
struct SumFirst {
  template <typename T>
  static __device__ T of(T, T) {
    return first_sum<T>();
  }
};
struct ProdFirst {
  template <typename T>
  static __device__ T of(T, T) {
    return first_product<T>();
  }
};
struct MaxFirst {
  template <typename T>
  static __device__ T of(T, T) {
    return lowest<T>();
  }
};
struct MinFirst {
  template <typename T>
  static __device__ T of(T, T) {
    return highest<T>();
  }
};

// 2: takes `b`. 1: takes the one that comes first. 0: takes `a`.
template <bool kMax>
struct PlaceOrder {
  template <typename T>
  static __device__ u32 of(T a, T b) {
    const bool nan_a = a != a;
    const bool nan_b = b != b;
    if (nan_a | nan_b) return nan_a & nan_b ? 1 : nan_b ? 2 : 0;
    if (a == b) return 1;
    return (kMax ? a < b : b < a) ? 2 : 0;
  }
};

using ArgmaxFirst = MaxFirst;
using ArgmaxOrder = PlaceOrder<true>;
using ArgminFirst = MinFirst;
using ArgminOrder = PlaceOrder<false>;

template <typename F, typename T>
__device__ u64 call(u64 a, u64 b) {
  return to_bits(F::of(from_bits<T>(a), from_bits<T>(b)));
}

template <typename F, typename T>
__device__ Four call_four(Four a, Four b) {
  Four out;
#pragma unroll
  for (u32 w = 0; w < 4; ++w)
    out.values[w] = static_cast<u32>(call<F, T>(a.values[w], b.values[w]));
  return out;
}

template <typename T>
__device__ inline T from_four(const Four& four) {
  if constexpr (sizeof(T) == 16)
    return bit_cast<T>(four);
  else
    return from_bits<T>(four.values[0] | u64{four.values[1]} << 32);
}
template <typename T>
__device__ inline Four to_four(T value) {
  if constexpr (sizeof(T) == 16) {
    return bit_cast<Four>(value);
  } else {
    const u64 bits = to_bits(value);
    return {{static_cast<u32>(bits), static_cast<u32>(bits >> 32), 0, 0}};
  }
}

template <typename F, typename T>
__device__ Four call_pair(Four a, Four b) {
  return to_four(F::of(from_four<T>(a), from_four<T>(b)));
}

// The addresses, or null if the function does not exist. `kIs`: the code takes
// the type.
template <typename F, typename T, bool kIs>
__device__ constexpr AnyFunction function_of() {
  if constexpr (!kIs)
    return nullptr;
  else if constexpr (sizeof(T) == 16 || sizeof(F::of(T{}, T{})) == 16)
    return call_pair<F, T>;
  else
    return call<F, T>;
}
template <typename F, typename T, bool kIs>
__device__ constexpr FunctionOfFour four_of() {
  if constexpr (kIs)
    return call_four<F, T>;
  else
    return nullptr;
}

}  // namespace program
}  // namespace gpuos
