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

  __device__ StreamedRows(const Told& told, u32 unit) : x_{told} {
    const RowShape& rows = told.rows;
    me_.group = unit;
    me_.number = 0;
    if (unit < rows.slices) {
      me_.group = 0;
      me_.number = unit;
    } else if (rows.slices > 1) {
      me_.group = unit / rows.slices;
      me_.number = unit % rows.slices;
    }
    const u32 bits = log2_of(rows.row_lanes);
    const u32 row = me_.group * (blockDim.x >> bits) + (threadIdx.x >> bits);
    me_.sub = threadIdx.x & (rows.row_lanes - 1);
    me_.row = row;
    me_.is_on = x_.is_on = row < rows.rows;
    x_.column = me_.sub * P::kWidth;
    x_.find(row);
  }

  // The two halves of a unit: what its lanes gather,
  __device__ __forceinline__ Row stream() {
    Row row;
    P::row(Part<0>{}, row, x_);
    P::each_gathered(Part<1>{}, row, Begin{});
    if (!x_.is_on) return row;
    const RowShape& rows = x_.task.rows;
    const u32 pieces = rows.row_lanes * P::kWidth;
    Stream<P, P::kWidth, P::kElements / P::kWidth> many{
        x_.task,
        u64{me_.number} * pieces + x_.column,
        rows.slices * pieces,
        {}};
#pragma unroll
    for (u32 a = 0; a < P::kAccesses; ++a)
      many.places[a] = x_.starts[a] + many.column * P::bytes(a);
    run(row, many);
    Stream<P, P::kWidth, 1> one{x_.task, many.column, many.step, {}};
#pragma unroll
    for (u32 a = 0; a < P::kAccesses; ++a) one.places[a] = many.places[a];
    run(row, one);
    return row;
  }
  // and what becomes of it.
  __device__ void finish(Row& row, WarpJoin& join) {
    P::each_gathered(Part<1>{}, row, join);
    if (x_.task.is(kSliced)) {
      if (!take_slices<P>(row, x_.task.rows, me_)) return;
      P::each_gathered(Part<1>{}, row, join);
    }
    P::row(Part<2>{}, row, x_);
  }

 private:
  template <typename M>
  __device__ __forceinline__ void run(Row& row, M& stream) const {
    const u64 before_last = (M::kPieces - 1) * stream.step;
#pragma unroll 1
    for (; stream.column + before_last < x_.task.rows.columns; stream.go_on()) {
      typename P::template Columns<M::N> x;
      P::load(Part<1>{}, x, stream);
      P::loop(Part<1>{}, row, x, stream);
    }
  }

  KeptRow<P> x_;
  Sharer me_;
};

// Calls, each with little to save.
template <typename P>
__device__ __noinline__ typename StreamedRows<P>::Row stream_rows(Task task,
                                                                  u32 unit) {
  const typename StreamedRows<P>::Told told(task);
  return StreamedRows<P>(told, unit).stream();
}
template <typename P>
__device__ __noinline__ u32 finish_rows(Task task, u32 unit, u32 half,
                                        typename StreamedRows<P>::Row row) {
  const typename StreamedRows<P>::Told told(task);
  WarpJoin join(task, told.rows.row_lanes, half);
  StreamedRows<P>(told, unit).finish(row, join);
  return join.half;
}
template <typename P>
__device__ __noinline__ void run_streamed(Task task, Lane lane) {
  const RowShape rows = typename StreamedRows<P>::Told(task).rows;
  const u32 units = groups(rows) * rows.slices;
  const u32 bits = log2_of(blockDim.x);  // as many as the lanes
  u32 half = 0;
#pragma unroll 1
  for (u32 unit = lane.first >> bits; unit < units; unit += lane.total >> bits)
    half = finish_rows<P>(task, unit, half, stream_rows<P>(task, unit));
}

}  // namespace program
}  // namespace gpuos
