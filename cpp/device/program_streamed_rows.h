// Long rows that lie side by side, each read once by lanes of one worker or of
// several: the usual case of a sum. Little code, because while other workers
// stream, the memory has no haste with code and keeps those waiting that are
// behind.
#pragma once

#include "program_rows.h"

namespace gpuos {
namespace program {

template <typename P>
class StreamedRows {
 public:
  using Told = Arguments<P::kAccesses, P::kScalars>;
  using Row = typename P::template Row<1>;

  // Whether plain rows are for this.
  static __device__ bool fit(const Told& x) {
    return x.rows.row_lanes >= WarpJoin::kWarp;
  }

  __device__ explicit StreamedRows(const Task& task)
      : x_{Told(task)},
        bits_(log2_of(x_.task.rows.row_lanes)),
        sub_(threadIdx.x & (x_.task.rows.row_lanes - 1)) {
    x_.column = sub_ * P::kWidth;
  }

  // Whole rows, as many at a time as all workers have room for.
  __device__ __forceinline__ void run(const Lane& lane, WarpJoin& join) {
    const u32 rows = x_.task.rows.rows;
    const u32 distance = lane.total >> bits_;
#pragma unroll 1
    for (u32 first = lane.first >> bits_; first < rows; first += distance) {
      place_at(first + (threadIdx.x >> bits_));
      Row row = stream(0, 1);
      P::each_gathered(Part<1>{}, row, join);
      P::row(Part<2>{}, row, x_);
    }
  }

  // The two halves of a unit, which is a slice of a group of rows: what its
  // lanes gather,
  __device__ __forceinline__ Row stream_slice(u32 unit) {
    const Sharer me = sharer(unit);
    return stream(me.number, x_.task.rows.slices);
  }
  // and what becomes of it.
  __device__ void finish_slice(u32 unit, Row& row, WarpJoin& join) {
    const Sharer me = sharer(unit);
    P::each_gathered(Part<1>{}, row, join);
    if (!take_slices<P>(row, x_.task.rows, me)) return;
    P::each_gathered(Part<1>{}, row, join);
    P::row(Part<2>{}, row, x_);
  }

 private:
  __device__ void place_at(u32 row) {
    x_.is_on = row < x_.task.rows.rows;
    x_.find(row);
  }

  __device__ Sharer sharer(u32 unit) {
    const u32 slices = x_.task.rows.slices;
    Sharer me{0, 0, unit, sub_, false};
    if (unit >= slices) {
      me.group = unit / slices;
      me.number = unit % slices;
    }
    const u32 row = me.group * (blockDim.x >> bits_) + (threadIdx.x >> bits_);
    place_at(row);
    me.row = row;
    me.is_on = x_.is_on;
    return me;
  }

  // What this lane gathers of its row, whose pieces `slices` take by turns.
  __device__ __forceinline__ Row stream(u32 slice, u32 slices) {
    Row row;
    P::row(Part<0>{}, row, x_);
    P::each_gathered(Part<1>{}, row, Begin{});
    if (!x_.is_on) return row;
    const u32 pieces = P::kWidth << bits_;
    Stream<P, P::kWidth, P::kElements / P::kWidth> many{
        x_.task, u64{slice} * pieces + x_.column, slices * pieces, {}};
#pragma unroll
    for (u32 a = 0; a < P::kAccesses; ++a)
      many.places[a] = x_.starts[a] + many.column * P::bytes(a);
    go(row, many);
    Stream<P, P::kWidth, 1> one{x_.task, many.column, many.step, {}};
#pragma unroll
    for (u32 a = 0; a < P::kAccesses; ++a) one.places[a] = many.places[a];
    go(row, one);
    return row;
  }
  template <typename M>
  __device__ __forceinline__ void go(Row& row, M& stream) const {
    const u64 before_last = (M::kPieces - 1) * stream.step;
#pragma unroll 1
    for (; stream.column + before_last < x_.task.rows.columns; stream.go_on()) {
      typename P::template Columns<M::N> x;
      P::load(Part<1>{}, x, stream);
      P::loop(Part<1>{}, row, x, stream);
    }
  }

  KeptRow<P> x_;
  const u32 bits_;  // of the lanes of a row
  const u32 sub_;   // which of them this is
};

// Calls, each with little to save.
template <typename P>
__device__ __noinline__ void run_streamed(Task task, Lane lane) {
  StreamedRows<P> rows(task);
  WarpJoin join(task,
                Arguments<P::kAccesses, P::kScalars>(task).rows.row_lanes);
  rows.run(lane, join);
}
template <typename P>
__device__ __noinline__ typename StreamedRows<P>::Row stream_slice(Task task,
                                                                   u32 unit) {
  return StreamedRows<P>(task).stream_slice(unit);
}
template <typename P>
__device__ __noinline__ u32 finish_slice(Task task, u32 unit, u32 half,
                                         typename StreamedRows<P>::Row row) {
  StreamedRows<P> rows(task);
  WarpJoin join(task, Arguments<P::kAccesses, P::kScalars>(task).rows.row_lanes,
                half);
  rows.finish_slice(unit, row, join);
  return join.half;
}
template <typename P>
__device__ __noinline__ void run_slices(Task task, Lane lane) {
  const RowShape rows = Arguments<P::kAccesses, P::kScalars>(task).rows;
  const u32 units = groups(rows) * rows.slices;
  const u32 bits = log2_of(blockDim.x);  // as many as the lanes
  u32 half = 0;
#pragma unroll 1
  for (u32 unit = lane.first >> bits; unit < units; unit += lane.total >> bits)
    half = finish_slice<P>(task, unit, half, stream_slice<P>(task, unit));
}

}  // namespace program
}  // namespace gpuos
