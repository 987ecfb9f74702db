// The lanes of a worker while they interpret: cells in shared memory, and the
// result of the instruction before in registers.
#pragma once

#include "program_functors.h"
#include "program_task.h"

namespace gpuos {
namespace program {

// The worker's scratch, by its own address space: faster than by a pointer.
extern __shared__ u32 scratch[];

// W elements of one lane; values of 64 bits have their upper halves in `high`.
template <u32 W>
struct Values {
  u32 low[W];
  u32 high[W];

  __device__ u64 bits(u32 w, bool wide) const {
    return wide ? low[w] | u64{high[w]} << 32 : low[w];
  }
  __device__ void set(u32 w, u64 bits) {
    low[w] = static_cast<u32>(bits);
    high[w] = static_cast<u32>(bits >> 32);
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

template <u32 W>
struct Cells {
  u32 lanes;

  __device__ u32* at(u32 cell, u32 lane) const {
    return scratch + kTextBytes / 4 + (cell * lanes + lane) * W;
  }
  __device__ u32* mine(u32 cell) const { return at(cell, threadIdx.x); }

  __device__ void read_words(u32 cell, u32 (&words)[W]) const {
    const u32* from = mine(cell);
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
    u32* to = mine(cell);
    if constexpr (W == 4)
      *reinterpret_cast<uint4*>(to) =
          make_uint4(words[0], words[1], words[2], words[3]);
    else
      to[0] = words[0];
  }
  __device__ void read(u32 cell, bool wide, Values<W>& values) const {
    read_words(cell, values.low);
    if (wide) read_words(cell + 1, values.high);
  }
  __device__ void write(u32 cell, bool wide, const Values<W>& values) const {
    write_words(cell, values.low);
    if (wide) write_words(cell + 1, values.high);
  }

  // The first element of a lane.
  __device__ u64 first(u32 cell, u32 lane, bool wide) const {
    const u64 high = wide ? *at(cell + 1, lane) : 0;
    return *at(cell, lane) | high << 32;
  }
  __device__ void set_first(u32 cell, bool wide, u64 bits) const {
    *mine(cell) = static_cast<u32>(bits);
    if (wide) *mine(cell + 1) = static_cast<u32>(bits >> 32);
  }
};

}  // namespace program
}  // namespace gpuos
