// Joins of the values that the lanes of a row, and the workers that share it,
// have gathered.
#pragma once

#include "interpreter/device_order.h"
#include "interpreter/resolve.h"
#include "memory.h"

namespace gpuos {
namespace program {

// A gathered value, and its place for an argmax or argmin. A value of 128 bits
// has two halves.
struct Gathered {
  u64 value;
  u64 place;
};

// One reduction of a row.
template <u32 W>
struct Reduction {
  Cells<W> cells;
  u64 function;  // AnyFunction
  u32 cell;
  bool wide;
  bool has_place;
  bool is_pair;  // kept like a wide value and its place

  __device__ u32 place_cell() const { return cell + (wide ? 2 : 1); }
  __device__ u32 words() const { return (wide ? 2 : 1) + (has_place ? 2 : 0); }

  __device__ Gathered both(const Gathered& a, const Gathered& b) const {
    if (is_pair)
      return bit_cast<Gathered>(reinterpret_cast<FunctionOfFour>(function)(
          bit_cast<Four>(a), bit_cast<Four>(b)));
    const u64 result = reinterpret_cast<Function>(function)(a.value, b.value);
    if (!has_place) return {result, 0};
    const bool takes = result == 2 || (result == 1 && b.place < a.place);
    return takes ? b : a;
  }

  __device__ Gathered of(u32 lane, u32 w) const {
    Gathered found{word(cell, lane, w), 0};
    if (wide) found.value |= word(cell + 1, lane, w) << 32;
    if (has_place)
      found.place =
          word(place_cell(), lane, w) | word(place_cell() + 1, lane, w) << 32;
    return found;
  }
  __device__ void keep(u32 w, const Gathered& found) const {
    set_word(cell, w, found.value);
    if (wide) set_word(cell + 1, w, found.value >> 32);
    if (!has_place) return;
    set_word(place_cell(), w, found.place);
    set_word(place_cell() + 1, w, found.place >> 32);
  }

 private:
  __device__ u64 word(u32 at, u32 lane, u32 w) const {
    return cells.at(at, lane)[w];
  }
  __device__ void set_word(u32 at, u32 w, u64 bits) const {
    cells.mine(at)[w] = static_cast<u32>(bits);
  }
};

// Stores the words that a slice keeps in device memory.
__device__ inline u32* keep_words(const Gathered& found, bool wide,
                                  bool has_place, u32* to) {
  *to++ = static_cast<u32>(found.value);
  if (wide) *to++ = static_cast<u32>(found.value >> 32);
  if (!has_place) return to;
  *to++ = static_cast<u32>(found.place);
  *to++ = static_cast<u32>(found.place >> 32);
  return to;
}
__device__ inline Gathered kept_words(const u32* from, bool wide,
                                      bool has_place) {
  // Reads past this multiprocessor's L1, because another one wrote the values.
  Gathered found{__ldcg(from), 0};
  if (wide) found.value |= u64{__ldcg(++from)} << 32;
  if (!has_place) return found;
  found.place = __ldcg(++from);
  found.place |= u64{__ldcg(++from)} << 32;
  return found;
}

// For all threads of the worker. Combines the row's values in the order of
// device_order.h, and gives the result to all its lanes.
template <u32 W>
__device__ __noinline__ void join_lanes(Reduction<W> x, u32 row_lanes,
                                        RowLane place) {
  const bool works = threadIdx.x < x.cells.lanes;
  Gathered sum{};
  if (works) sum = x.of(threadIdx.x, 0);
  join_by_halves(row_lanes, place.sub, [&](bool takes, u32 distance) {
    __syncthreads();
    if (!works || !takes) return;
    sum = x.both(sum, x.of(threadIdx.x + distance * place.distance, 0));
    x.keep(0, sum);
  });
  __syncthreads();
  if (works) sum = x.of(threadIdx.x - place.sub * place.distance, 0);
  __syncthreads();
  if (!works) return;
  for (u32 w = 0; w < W; ++w) x.keep(w, sum);
}

// Joins with a short Inlined. Lanes of one warp need no barrier.
template <u32 W>
__device__ __noinline__ void join_floats(Cells<W> cells, u32 inlined, u32 cell,
                                         u32 row_lanes, RowLane place) {
  const bool works = threadIdx.x < cells.lanes;
  const bool is_near =
      place.distance == 1;  // lanes of a warp follow each other
  u32* const mine = cells.mine(cell);
  u32 sum = works ? mine[0] : 0;
  const auto add = [&](u32 other) { sum = short_result(inlined, sum, other); };
  join_by_halves(row_lanes, place.sub, [&](bool takes, u32 distance) {
    if (is_near && distance < kJoinedLanes) {
      if (works) add(__shfl_down_sync(~0u, sum, distance));
      return;
    }
    if (works) mine[0] = sum;
    __syncthreads();
    if (works && takes)
      add(cells.at(cell, threadIdx.x + distance * place.distance)[0]);
    __syncthreads();
  });
  if (is_near && row_lanes <= kJoinedLanes) {
    if (works) sum = __shfl_sync(~0u, sum, 0, row_lanes);
  } else {
    if (works) mine[0] = sum;
    __syncthreads();
    if (works)
      sum = cells.at(cell, threadIdx.x - place.sub * place.distance)[0];
    __syncthreads();
  }
  if (!works) return;
#pragma unroll
  for (u32 w = 0; w < W; ++w) mine[w] = sum;
}

// Adds the values that the slices of the row kept, `stride` words apart, to
// those of the lane.
template <u32 W>
__device__ __noinline__ void gather_slices(Reduction<W> x, const u32* kept,
                                           u32 stride, u32 slices,
                                           u32 row_lanes, RowLane place) {
  if (!place.is_on) return;
  Gathered sum = x.of(threadIdx.x, 0);
  for (u32 slice = place.sub; slice < slices; slice += row_lanes)
    sum = x.both(sum,
                 kept_words(kept + u64{slice} * stride, x.wide, x.has_place));
  x.keep(0, sum);
}

}  // namespace program
}  // namespace gpuos
