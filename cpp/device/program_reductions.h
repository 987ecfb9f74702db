// What the reductions of compiled programs gather: a first value, and how two
// become one.
#pragma once

#include "program_source.h"

namespace gpuos {
namespace program {

#define GPUOS_DEFINE_REDUCTION(name, function, begin)        \
  template <typename T>                                      \
  struct name {                                              \
    using Type = T;                                          \
    static GPUOS_DEVICE T first() { return begin<T>(); }     \
    static GPUOS_DEVICE T of(T value, u64) { return value; } \
    static GPUOS_DEVICE T both(T a, T b) {                   \
      return static_cast<T>(fn::function(a, b));             \
    }                                                        \
    static GPUOS_DEVICE T result(T value) { return value; }  \
  };
GPUOS_DEFINE_REDUCTION(SumOf, add, first_sum)
GPUOS_DEFINE_REDUCTION(ProdOf, mul, first_product)
GPUOS_DEFINE_REDUCTION(MaxOf, maximum, lowest)
GPUOS_DEFINE_REDUCTION(MinOf, minimum, highest)
#undef GPUOS_DEFINE_REDUCTION

// A value and where it stands, in as many words as the interpreter's.
template <typename T>
struct Placed {
  T value;
  u32 low;
  u32 high;

  GPUOS_DEVICE u64 place() const { return low | u64{high} << 32; }
};

template <bool kMax, typename T>
struct PlaceOf {
  using Type = Placed<T>;
  static GPUOS_DEVICE Type of(T value, u64 place) {
    return {value, static_cast<u32>(place), static_cast<u32>(place >> 32)};
  }
  static GPUOS_DEVICE Type first() {
    if constexpr (kMax)
      return of(lowest<T>(), ~0ull >> 1);
    else
      return of(highest<T>(), ~0ull >> 1);
  }
  static GPUOS_DEVICE Type both(const Type& a, const Type& b) {
    return takes<kMax>(a.value, a.place(), b.value, b.place()) ? b : a;
  }
  static GPUOS_DEVICE u64 result(const Type& value) { return value.place(); }
};
template <typename T>
using ArgmaxOf = PlaceOf<true, T>;
template <typename T>
using ArgminOf = PlaceOf<false, T>;

#if defined(__CUDACC__)
// A lane gathers one value.
template <typename F, u32 R>
struct Sums {
  using Function = F;
  using Type = typename F::Type;
  Type values[1];
  __device__ void begin() { values[0] = F::first(); }
  __device__ auto result(u32) const { return F::result(values[0]); }
};
#else
// Of one row several side by side, so that loops vectorise; else one a row.
template <typename F, u32 R>
struct Sums {
  using Function = F;
  using Type = typename F::Type;
  enum : u32 { kCount = R == 1 ? 64 : R };
  Type values[kCount];
  u32 used = 0;
  void begin() {
    for (Type& value : values) value = F::first();
  }
  void join() {
    if (R != 1) return;
    for (u32 k = 1; k < used; ++k) values[0] = F::both(values[0], values[k]);
  }
  auto result(u32 w) const { return F::result(values[R == 1 ? 0 : w]); }
};
#endif

}  // namespace program
}  // namespace gpuos
