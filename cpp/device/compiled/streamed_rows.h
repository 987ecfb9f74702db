// Reduces long contiguous rows, each read once by lanes of one worker or of
// several. This is the usual case of a sum. The first pieces are loaded before
// the loop's code has arrived, and almost no registers are saved. Each register
// that a function saves for its caller is 540 KB for all lanes. It is written
// and read again, which takes 0.2 to 0.5 us. docs/lab/sums.md lists the other
// attempts.
#pragma once

#include "compiled/rows.h"
#include "compiled/sent_pieces.h"

namespace gpuos {
namespace program {

template <typename P>
class StreamedRows {
 public:
  using Told = TaskArguments<P::kAccesses, P::kScalars>;
  using Row = typename P::template Row<1>;

  // Returns whether plain rows of this shape can be streamed.
  static __device__ bool fit(const Told& x) {
    return x.rows.row_lanes >= WarpJoin::kWarp;
  }
  // Returns whether the lanes have enough columns to load pieces ahead.
  static __device__ bool sends(const Told& x) {
    return SentPieces<P>::kRounds != 0 &&
           x.rows.columns >=
               u64{x.rows.row_lanes} * x.rows.slices * SentPieces<P>::kColumns;
  }

  // Slice `number` of a group of rows.
  __device__ StreamedRows(const Told& told, u32 thread, u32 group, u32 number)
      : x_{told} {
    const RowShape& rows = told.rows;
    me_.group = group;
    me_.number = number;
    const u32 bits = log2_of(rows.row_lanes);
    const u32 row = group * (rows.lanes >> bits) + (thread >> bits);
    me_.sub = thread & (rows.row_lanes - 1);
    me_.row = row;
    me_.is_on = x_.is_on = row < rows.rows;
    x_.column = me_.sub * P::kWidth;
    x_.find(row);
  }

  __device__ __forceinline__ void send(const Task& task) const {
    if constexpr (SentPieces<P>::kRounds != 0)
      if (me_.is_on) send_pieces<P>(task, pieces());
  }

  // Gathers the values of the lanes.
  __device__ __forceinline__ Row stream(const Task& task, bool is_sent) const {
    Row row;
    P::row(Part<0>{}, row, x_);
    P::each_gathered(Part<1>{}, row, Begin{});
    if (!me_.is_on) return row;
    PiecesOf<P> many = pieces();
    if constexpr (SentPieces<P>::kRounds != 0)
      if (is_sent) take_pieces<P>(task, row, many);
    const u64 end = x_.starts[kFirst] + x_.task.rows.columns * P::bytes(kFirst);
    read(row, many, end);
    StreamedPieces<P, P::kWidth, 1> one{x_.task, many.column, many.step, {}};
#pragma unroll
    for (u32 a = 0; a < P::kAccesses; ++a) one.places[a] = many.places[a];
    read(row, one, end);
    return row;
  }
  // Computes the results of whole rows from the gathered values,
  __device__ __forceinline__ void finish(Row& row, WarpJoin& join) const {
    P::each_gathered(Part<1>{}, row, join);
    P::row(Part<2>{}, row, x_);
  }
  // and the results of a slice.
  __device__ __forceinline__ void finish_slice(Row& row, WarpJoin& join) const {
    P::each_gathered(Part<1>{}, row, join);
    if (take_slices<P>(row, x_.task.rows, me_)) finish(row, join);
  }

 private:
  static __device__ constexpr u32 first_of(u32 accesses) {
    u32 first = 0;
    while ((accesses >> first & 1) == 0) ++first;
    return first;
  }
  enum : u32 { kFirst = first_of(P::kLoads) };

  __device__ PiecesOf<P> pieces() const {
    const RowShape& rows = x_.task.rows;
    const u32 width = rows.row_lanes * P::kWidth;
    PiecesOf<P> pieces{
        x_.task, u64{me_.number} * width + x_.column, rows.slices * width, {}};
#pragma unroll
    for (u32 a = 0; a < P::kAccesses; ++a)
      pieces.places[a] = x_.starts[a] + pieces.column * P::bytes(a);
    return pieces;
  }

  // Takes all pieces up to the end of the first access. Unlike the column's
  // number, that end needs no second address, so that all loads of a turn have
  // registers.
  template <typename M>
  static __device__ __forceinline__ void read(Row& row, M& stream, u64 end) {
    const u64 before_last =
        u64{stream.step} * ((M::kPieces - 1) * P::bytes(kFirst));
#pragma unroll 1
    for (; stream.places[kFirst] + before_last < end; stream.go_on()) {
      typename P::template Columns<M::N> x;
      P::load(Part<1>{}, x, stream);
      P::loop(Part<1>{}, row, x, stream);
    }
  }

  KeptRow<P> x_;
  Sharer me_;
};

// These values stay in the scratch, between those of joins and the copied
// pieces. The loop then has its registers for loads. Only some thirty registers
// are not saved in a call.
struct PutAside {
  enum : u32 { kAt = 512 };  // words
  const u64* args;
  u32 group;   // of rows, the worker's first one
  u32 number;  // of its slice
  u32 step;    // to the worker's next group
  u32 groups;

  static __device__ PutAside* of(const void* state) {
    return reinterpret_cast<PutAside*>(
        static_cast<u32*>(const_cast<void*>(state)) + kAt);
  }
  __device__ Task task(const void* state) const { return {args, state, 0}; }
};

// Groups of whole rows by turns.
template <typename P>
__device__ __noinline__ void run_streamed(Task task, Lane lane) {
  using Rows = StreamedRows<P>;
  if (threadIdx.x == 0) {
    const RowShape rows = typename Rows::Told(task).rows;
    const u32 bits = log2_of(rows.lanes);  // as many as the worker has
    *PutAside::of(task.state) = {task.args, lane.first >> bits, 0,
                                 lane.total >> bits, groups(rows)};
  }
  __syncthreads();
  const void* state = task.state;
#pragma unroll 1
  for (u32 turn = 0;; ++turn) {
    forget(state);
    typename Rows::Row row;
    {
      const PutAside& aside = *PutAside::of(state);
      const u32 group = aside.group + turn * aside.step;
      if (group >= aside.groups) return;
      const Task now = aside.task(state);
      const typename Rows::Told told(now);
      const bool is_sent = turn == 0 && Rows::sends(told);
      row = Rows(told, find_thread(), group, 0).stream(now, is_sent);
    }
    forget(state);
    const PutAside& aside = *PutAside::of(state);
    const Task again = aside.task(state);
    const typename Rows::Told told(again);
    const u32 thread = find_thread();
    Count joins{0};
    P::each_gathered(Part<1>{}, row, joins);
    // Each join uses the other half than the previous one, also from row to
    // row.
    const u32 half = turn * joins.number & 1;
    WarpJoin join(again, told.rows.row_lanes, half, thread);
    Rows(told, thread, aside.group + turn * aside.step, 0).finish(row, join);
  }
}

// Computes the results of the slice of a worker. Each call is in tail position.
template <typename P>
__device__ __noinline__ void finish_slice(const void* state,
                                          typename StreamedRows<P>::Row row) {
  __syncthreads();
  const PutAside aside = *PutAside::of(state);
  const Task task = aside.task(state);
  const typename StreamedRows<P>::Told told(task);
  WarpJoin join(task, told.rows.row_lanes);
  StreamedRows<P>(told, threadIdx.x, aside.group, aside.number)
      .finish_slice(row, join);
}
template <typename P>
__device__ __noinline__ void run_slice(Task task, u32 group, u32 number) {
  using Rows = StreamedRows<P>;
  const typename Rows::Told told(task);
  if (threadIdx.x == 0)
    *PutAside::of(task.state) = {task.args, group, number, 0, 0};
  finish_slice<P>(
      task.state,
      Rows(told, threadIdx.x, group, number).stream(task, Rows::sends(told)));
}

template <typename P>
__device__ __forceinline__ void start_streamed(
    const Task& task, const Lane& lane,
    const typename StreamedRows<P>::Told& told) {
  u32 group = lane.first >> log2_of(told.rows.lanes);
  u32 number = 0;
  if (told.is(kSliced)) {
    number = group % told.rows.slices;
    group /= told.rows.slices;
  }
  if (StreamedRows<P>::sends(told))
    StreamedRows<P>(told, threadIdx.x, group, number).send(task);
  if (told.is(kSliced))
    run_slice<P>(task, group, number);
  else
    run_streamed<P>(task, lane);
}

}  // namespace program
}  // namespace gpuos
