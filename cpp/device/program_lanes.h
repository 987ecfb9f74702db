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
};

}  // namespace program
}  // namespace gpuos
