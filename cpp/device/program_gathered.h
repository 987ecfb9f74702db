// What lanes of the device have gathered, handed on to other lanes and workers.
#pragma once

#include "memory.h"
#include "program_reductions.h"

namespace gpuos {
namespace program {

enum : u32 { kEveryLane = 0xffffffffu };

// A value as words.
template <typename T>
struct Words {
  u32 words[sizeof(T) / 4];
};

template <typename T>
__device__ inline T shuffle_down(const T& value, u32 distance, u32 width) {
  Words<T> words = bit_cast<Words<T>>(value);
#pragma unroll
  for (u32 i = 0; i < sizeof(T) / 4; ++i)
    words.words[i] =
        __shfl_down_sync(kEveryLane, words.words[i], distance, width);
  return bit_cast<T>(words);
}
template <typename T>
__device__ inline T shuffle_first(const T& value, u32 width) {
  Words<T> words = bit_cast<Words<T>>(value);
#pragma unroll
  for (u32 i = 0; i < sizeof(T) / 4; ++i)
    words.words[i] = __shfl_sync(kEveryLane, words.words[i], 0, width);
  return bit_cast<T>(words);
}
template <typename T>
__device__ inline void put_words(u32* to, const T& value) {
  const Words<T> words = bit_cast<Words<T>>(value);
#pragma unroll
  for (u32 i = 0; i < sizeof(T) / 4; ++i) to[i] = words.words[i];
}
template <typename T>
__device__ inline T get_words(const u32* from) {
  Words<T> words;
#pragma unroll
  for (u32 i = 0; i < sizeof(T) / 4; ++i) words.words[i] = from[i];
  return bit_cast<T>(words);
}

// For each_gathered() of a pass: begins,
struct Begin {
  template <typename F>
  __device__ void operator()(Sums<F, 1>& g) const {
    g.begin();
  }
};
// tells how many words there are,
struct Size {
  u32 words;
  template <typename F>
  __device__ void operator()(Sums<F, 1>&) {
    words += sizeof(typename F::Type) / 4;
  }
};
// leaves them in memory,
struct Keep {
  u32* to;
  template <typename F>
  __device__ void operator()(Sums<F, 1>& g) {
    put_words(to, g.values[0]);
    to += sizeof(typename F::Type) / 4;
  }
};
// and puts together what several workers left.
struct Gather {
  const u32* from;
  u32 distance;
  u32 first;
  u32 slices;
  u32 step;
  template <typename F>
  __device__ void operator()(Sums<F, 1>& g) {
    g.begin();
#pragma unroll 1
    for (u32 slice = first; slice < slices; slice += step) {
      Words<typename F::Type> words;
#pragma unroll
      for (u32 i = 0; i < sizeof(words) / 4; ++i)
        words.words[i] = __ldcg(from + u64{slice} * distance + i);
      g.values[0] = F::both(g.values[0], bit_cast<typename F::Type>(words));
    }
    from += sizeof(typename F::Type) / 4;
  }
};

}  // namespace program
}  // namespace gpuos
