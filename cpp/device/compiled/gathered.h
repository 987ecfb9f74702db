// Hands the values that lanes have gathered to other lanes and workers.
#pragma once

#include "compiled/task_layout.h"
#include "interpreter/device_order.h"
#include "memory.h"

namespace gpuos {
namespace program {

enum : u32 {
  // Words of the scratch where joins keep values, after the dividers. Joins use
  // two halves in turn, so that one barrier per join is enough.
  kJoinWords = 64,
  kJoinHalf = 256 * 4,
  // The most warps, or lanes of different warps, that join by way of the
  // scratch.
  kMostJoined = 8
};

// A value, stored as words.
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

// Joins the values that `parts` lanes or warps have left, `distance` words
// apart. `parts` is a power of two, at most kMostJoined.
template <typename F>
__device__ inline typename F::Type join_parts(const u32* from, u32 distance,
                                              u32 parts) {
  using T = typename F::Type;
  // Has no loop, so that all loads are in flight together.
  T values[kMostJoined];
#pragma unroll
  for (u32 k = 0; k < kMostJoined; ++k)
    values[k] = k < parts ? get_words<T>(from + k * distance) : F::first();
#pragma unroll
  for (u32 half = kMostJoined / 2; half > 0; half /= 2) {
    if (half >= parts) continue;
#pragma unroll
    for (u32 k = 0; k < half; ++k)
      values[k] = F::both(values[k], values[k + half]);
  }
  return values[0];
}

// Visitors for each_gathered() of a pass. This one initialises,
struct Begin {
  template <typename F>
  __device__ void operator()(Sums<F, 1>& g) const {
    g.begin();
  }
};
// these count the values
struct Count {
  u32 number;
  template <typename F>
  __device__ void operator()(Sums<F, 1>&) {
    ++number;
  }
};
// and their words,
struct Size {
  u32 words;
  template <typename F>
  __device__ void operator()(Sums<F, 1>&) {
    words += sizeof(typename F::Type) / 4;
  }
};
// this one starts the next gathering with the values of the last one,
struct Regather {
  template <typename F>
  __device__ void operator()(Sums<F, 1>& g) const {
    g.values[0] = F::both(F::first(), g.values[0]);
  }
};
// this one stores the values to memory,
struct Keep {
  u32* to;
  template <typename F>
  __device__ void operator()(Sums<F, 1>& g) {
    put_words(to, g.values[0]);
    to += sizeof(typename F::Type) / 4;
  }
};
// and this one combines the values of several workers.
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

// The position of a lane in a row that workers share.
struct Sharer {
  u64 row;
  u32 group;   // of rows
  u32 number;  // of the slice
  u32 sub;     // which of the row's lanes
  bool is_on;  // has a row
};

// For all threads. The last worker gets the gathered values of all slices of a
// row, which its lanes still have to join. The others get false.
template <typename P, typename Row>
__device__ inline bool take_slices(Row& row, const RowShape& rows,
                                   const Sharer& me) {
  const u32 in_group = group_rows(rows);
  Size size{0};
  P::each_gathered(Part<1>{}, row, size);
  const u32 distance = in_group * size.words;
  u32* kept = reinterpret_cast<u32*>(rows.gathered) + groups(rows);
  kept += (u64{me.group} * rows.slices * in_group +
           static_cast<u32>(me.row - u64{me.group} * in_group)) *
          size.words;
  if (me.is_on && me.sub == 0)
    P::each_gathered(Part<1>{}, row, Keep{kept + u64{me.number} * distance});
  if (!is_last_slice(rows, me.group)) return false;
  const u32 first = me.is_on ? me.sub : rows.slices;
  P::each_gathered(Part<1>{}, row,
                   Gather{kept, distance, first, rows.slices, rows.row_lanes});
  return true;
}

// Joins rows whose lanes are whole, consecutive warps.
struct WarpJoin {
  enum : u32 {
    kWarp = 32,
    kHalf = kMostJoined * 4  // words: a value of each warp
  };

  u32* scratch;  // after the dividers
  u32 row_lanes;
  u32 half;  // of the scratch, for the next join
  u32 thread;

  __device__ WarpJoin(const Task& task, u32 lanes, u32 first_half = 0,
                      u32 own = threadIdx.x)
      : scratch(static_cast<u32*>(const_cast<void*>(task.state)) + kJoinWords),
        row_lanes(lanes),
        half(first_half),
        thread(own) {}

  // For all threads. Sends the row's value to all its lanes.
  template <typename F>
  __device__ void operator()(Sums<F, 1>& g) {
    g.values[0] = join<F>(g.values[0]);
  }

 private:
  template <typename F>
  __device__ typename F::Type join(typename F::Type value) {
    using T = typename F::Type;
    constexpr u32 kWords = sizeof(T) / 4;
#pragma unroll
    for (u32 d = kWarp / 2; d > 0; d /= 2)
      value = F::both(value, shuffle_down(value, d, kWarp));
    const u32 warps = row_lanes / kWarp;
    if (warps == 1) return shuffle_first(value, kWarp);
    u32* const words = scratch + half * kHalf;
    half ^= 1;
    const u32 warp = thread / kWarp;
    if (thread % kWarp == 0) put_words(words + warp * kWords, value);
    __syncthreads();
    return join_parts<F>(words + (warp & ~(warps - 1)) * kWords, kWords, warps);
  }
};

}  // namespace program
}  // namespace gpuos
