// The lanes of a worker while they interpret: cells in shared memory, and the
// result of the instruction before in registers.
#pragma once

#include "program_functors.h"
#include "program_task.h"

namespace gpuos {
namespace program {

// The worker's scratch, by its own address space: faster than by a pointer.
extern __shared__ u32 scratch[];

__device__ inline u32* cell_words() { return scratch + kTextBytes / 4; }

// W elements of one lane; values of 64 bits have their upper halves in `high`.
template <u32 W>
struct Values {
  u32 low[W];
  u32 high[W];
};

template <typename T>
__device__ inline T value_of(u32 low, u32 high) {
  if constexpr (sizeof(T) == 8)
    return bit_cast<T>(u64{low} | u64{high} << 32);
  else
    return bit_cast<T>(low);
}

template <typename T, u32 W>
__device__ inline T get(const Values<W>& values, u32 w) {
  return value_of<T>(values.low[w], values.high[w]);
}

template <typename T, u32 W>
__device__ inline void put(Values<W>& values, u32 w, T value) {
  if constexpr (sizeof(T) == 8) {
    const u64 bits = bit_cast<u64>(value);
    values.low[w] = static_cast<u32>(bits);
    values.high[w] = static_cast<u32>(bits >> 32);
  } else {
    values.low[w] = bit_cast<u32>(value);
  }
}

template <u32 W>
struct Cells {
  u32 lane;
  u32 lanes;

  __device__ u32* at(u32 cell, u32 of_lane) const {
    return cell_words() + (cell * lanes + of_lane) * W;
  }
  __device__ void read_words(u32 cell, u32 (&words)[W]) const {
    const u32* from = at(cell, lane);
    if constexpr (W == 4) {
      const uint4 all = *reinterpret_cast<const uint4*>(from);
      words[0] = all.x;
      words[1] = all.y;
      words[2] = all.z;
      words[3] = all.w;
    } else {
      words[0] = from[0];
    }
  }
  __device__ void write_words(u32 cell, const u32 (&words)[W]) const {
    u32* to = at(cell, lane);
    if constexpr (W == 4)
      *reinterpret_cast<uint4*>(to) =
          make_uint4(words[0], words[1], words[2], words[3]);
    else
      to[0] = words[0];
  }
  template <bool kWide>
  __device__ void read(u32 cell, Values<W>& values) const {
    read_words(cell, values.low);
    if constexpr (kWide) read_words(cell + 1, values.high);
  }
  template <bool kWide>
  __device__ void write(u32 cell, const Values<W>& values) const {
    write_words(cell, values.low);
    if constexpr (kWide) write_words(cell + 1, values.high);
  }
};

// Which lanes share a row, and which of its columns are this lane's.
struct Place {
  u64 row;
  u64 column;
  u32 sub;       // of the row's lanes
  u32 distance;  // to the next lane of the row
  bool is_on;    // has a row, or columns
};

}  // namespace program
}  // namespace gpuos
