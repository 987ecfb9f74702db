// The lanes of a worker while they interpret. Cells are in shared memory, and
// the previous result is in registers.
#pragma once

#include "interpreter/functors.h"
#include "interpreter/task.h"

namespace gpuos {
namespace program {

// Accesses the worker's scratch in its own address space, which is faster than
// a pointer.
extern __shared__ u32 scratch[];

// These functions access the scratch by its address. Otherwise the compiler
// would compute that address for each access.
__device__ inline u32 scratch_address() {
  return static_cast<u32>(__cvta_generic_to_shared(scratch));
}
__device__ inline u32 load_shared(u32 from) {
  u32 word;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(from) : "memory");
  return word;
}
__device__ inline uint4 load_shared_four(u32 from) {
  uint4 words;
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(words.x), "=r"(words.y), "=r"(words.z), "=r"(words.w)
               : "r"(from)
               : "memory");
  return words;
}
__device__ inline void store_shared(u32 to, u32 word) {
  asm volatile("st.shared.u32 [%0], %1;" ::"r"(to), "r"(word) : "memory");
}
__device__ inline void store_shared_four(u32 to, const u32 (&words)[4]) {
  asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(to),
               "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3])
               : "memory");
}

// W elements of one lane. Values of 64 bits have their upper halves in `high`.
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

// Says which lanes share a row, and which of its columns this lane has.
struct RowLane {
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
