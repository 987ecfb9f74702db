// Elementwise loops over contiguous buffers.
#pragma once

#include "operator.h"
#include "vectors.h"

namespace gpuos {

#if defined(__CUDACC__)

template <typename T>
using Pack = Vector<T, 16 / sizeof(T)>;

template <typename T, u32 kUnroll, typename F, typename... In>
GPUOS_DEVICE inline void map_packs(T* out, u32 packs, u32& i, Lane lane, F f,
                                   const In*... in) {
  constexpr u32 kWidth = 16 / sizeof(T);
  const u32 step = lane.count();
  for (; i + (kUnroll - 1) * step < packs; i += kUnroll * step) {
    // Issues every load before the first use, so that a lane has several in
    // flight.
    struct Loaded {
      Pack<T> packs[sizeof...(In) == 0 ? 1 : sizeof...(In)];
    } loaded[kUnroll];
#pragma unroll
    for (u32 u = 0; u < kUnroll; ++u) {
      u32 k = 0;
      ((loaded[u].packs[k++] =
            reinterpret_cast<const Pack<T>*>(in)[i + u * step]),
       ...);
    }
#pragma unroll
    for (u32 u = 0; u < kUnroll; ++u) {
      Pack<T> result;
#pragma unroll
      for (u32 w = 0; w < kWidth; ++w) {
        u32 k = 0;
        // A braced list fixes the order in which `k` grows.
        struct Values {
          T v[sizeof...(In) == 0 ? 1 : sizeof...(In)];
        } x{{(static_cast<void>(in), loaded[u].packs[k++].values[w])...}};
        result.values[w] = f(x.v);
      }
      reinterpret_cast<Pack<T>*>(out)[i + u * step] = result;
    }
  }
}

// out[i] = f(x) with x[k] = in_k[i]. Buffers may be the same or disjoint.
// kMaxUnroll is 1 for a costly `f`. Copies of such an `f` would cost registers
// and compile time, and hide no more latency.
template <typename T, u32 kMaxUnroll = 2, typename F, typename... In>
GPUOS_DEVICE inline void map(T* out, u32 count, Lane lane, F f,
                             const In*... in) {
  const u64 bits =
      (reinterpret_cast<u64>(out) | ... | reinterpret_cast<u64>(in));
  u32 done = 0;
  if (bits % 16 == 0) {
    constexpr u32 kWidth = 16 / sizeof(T);
    constexpr u32 kUnroll = sizeof...(In) <= 2 ? kMaxUnroll : 1;
    const u32 packs = count / kWidth;
    u32 i = lane.index();
    if constexpr (kUnroll > 1)
      map_packs<T, kUnroll>(out, packs, i, lane, f, in...);
    map_packs<T, 1>(out, packs, i, lane, f, in...);
    done = packs * kWidth;
  }
  for (u32 i = done + lane.index(); i < count; i += lane.count()) {
    T x[sizeof...(In) == 0 ? 1 : sizeof...(In)] = {in[i]...};
    out[i] = f(x);
  }
}

#else

template <typename T, u32 kMaxUnroll = 4, typename F, typename... In>
inline void map(T* out, u32 count, Lane, F f, const In*... in) {
  // Without a hint the compiler tests for overlap and takes the slow loop if
  // `out` is also an input.
#if defined(__clang__)
#pragma clang loop vectorize(assume_safety)
#elif defined(__GNUC__)
#pragma GCC ivdep
#endif
  for (u32 i = 0; i < count; ++i) {
    const T x[sizeof...(In) == 0 ? 1 : sizeof...(In)] = {in[i]...};
    out[i] = f(x);
  }
}

#endif

}  // namespace gpuos
