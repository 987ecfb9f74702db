// What lanes of the device have gathered, handed on to other lanes and workers.
#pragma once

#include "memory.h"
#include "program_reductions.h"

namespace gpuos {
namespace program {

enum : u32 {
  kEveryLane = 0xffffffffu,
  // Where joins keep values in the scratch, in words: behind the dividers, in
  // two halves by turns, so that one barrier a join is enough.
  kJoinWords = 64,
  kJoinHalf = 256 * 4,
  // Of a row, by way of the scratch: warps, or lanes of different ones.
  kMostJoined = 8
};

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
    using T = typename F::Type;
#pragma unroll 1
    for (u32 slice = first; slice < slices; slice += kAtOnce * step) {
      T values[kAtOnce];
#pragma unroll
      for (u32 k = 0; k < kAtOnce; ++k)
        values[k] =
            slice + k * step < slices ? load<T>(slice + k * step) : F::first();
#pragma unroll
      for (u32 k = 0; k < kAtOnce; ++k)
        if (slice + k * step < slices)
          g.values[0] = F::both(g.values[0], values[k]);
    }
    from += sizeof(typename F::Type) / 4;
  }

 private:
  // Loads that do not wait for each other.
  enum : u32 { kAtOnce = 4 };

  template <typename T>
  __device__ T load(u32 slice) const {
    Words<T> words;
#pragma unroll
    for (u32 i = 0; i < sizeof(words) / 4; ++i)
      words.words[i] = __ldcg(from + u64{slice} * distance + i);
    return bit_cast<T>(words);
  }
};

}  // namespace program
}  // namespace gpuos
