// The parts of a task that workers share, and the search for the last worker of
// a row. The host compiler, nvcc and NVRTC read this.
#pragma once

#include "interpreter/text.h"
#if defined(__CUDACC__)
#include "memory.h"
#else
#include "interpreter/order.h"
#endif

namespace gpuos {
namespace program {

#if defined(__CUDACC__)

// Returns the logarithm of a power of two, as RowShape's lanes are. A division
// by a number that the compiler does not know takes twenty instructions.
__device__ inline u32 log2_of(u32 power) { return 31 - __clz(power); }

// Returns how many rows a worker has at a time. The remaining lanes have none.
__device__ inline u32 group_rows(const RowShape& rows) {
  return rows.lanes >> log2_of(rows.row_lanes);
}
__device__ inline u32 groups(const RowShape& rows) {
  const u32 in_group = group_rows(rows);
  return (rows.rows + in_group - 1) >> log2_of(in_group);
}

// For all threads. Counts the slice. The last worker sees the values of all
// slices and resets the count to 0.
__device__ inline bool is_last_slice(const RowShape& rows, u32 group) {
  u32* counter = reinterpret_cast<u32*>(rows.gathered) + group;
  bool is_last = false;
  __syncthreads();
  // Pairs with the same count of the last worker. The barriers include the
  // writes and reads of the other threads.
  const u32 last = rows.slices - 1;
  if (threadIdx.x == 0) is_last = count_in_turn(counter, last) == last;
  return __syncthreads_or(is_last) != 0;
}

#else

struct Range {
  u64 begin, end;
};

// Returns this tile's share of `total`.
inline Range range_of(u64 total, u64 tile, u64 tiles) {
  const u64 whole = total / tiles;
  const u64 rest = total % tiles;
  const u64 begin = tile * whole + (tile < rest ? tile : rest);
  return {begin, begin + whole + (tile < rest ? 1 : 0)};
}

// Returns the columns of a row's slice.
inline Range columns_of(const RowShape& rows, u64 slice) {
  const u64 size = slice_columns(rows.columns, rows.slices);
  const u64 end = (slice + 1) * size;
  return {slice * size, end < rows.columns ? end : rows.columns};
}

// Counts a slice of the row. The last worker sees the values of all slices and
// resets the count to 0.
inline bool is_last_slice(const RowShape& rows, u64 row) {
  u32* const counter = reinterpret_cast<u32*>(rows.gathered) + row;
  // Releases this slice, and acquires the others for the last one.
  if (__atomic_fetch_add(counter, 1, __ATOMIC_ACQ_REL) + 1 != rows.slices)
    return false;
  __atomic_store_n(counter, 0, __ATOMIC_RELAXED);
  return true;
}

#endif

}  // namespace program
}  // namespace gpuos
