// Loops of a compiled pass on the device.
#pragma once

#include "compiled/gathered.h"
#include "compiled/share.h"

namespace gpuos {
namespace program {

template <typename P>
class Tile {
 public:
  using Row = typename P::template Row<1>;
  // Takes several pieces, or elements that are not contiguous.
  using Packs = Share<P, P::kWidth, P::kElements / P::kWidth>;
  using LoosePacks = Share<P, P::kWidth, 1>;
  using Scattered =
      Share<P, 1, P::kScattered, P::kIsOrdered ? kPackColumns : 1>;
  using Single = Share<P, 1, 1>;

  __device__ Tile(const Task& task, const Lane& lane)
      : memory_(task), lane_(lane), scratch_(join_scratch(task)) {}
  // `half` is the half of the scratch for the first join.
  __device__ Tile(const Task& task, const Lane& lane, Packed packed, u32 half)
      : memory_(task, packed),
        lane_(lane),
        scratch_(join_scratch(task)),
        half_(half) {}

  // Returns false if run_rest() must run the task, or run_strips() for a pass
  // without reductions.
  __device__ bool run() {
    if constexpr (!P::kReduces) return run_elements();
    if (!memory_.has_packs) return false;
    run_rows<Packs>();
    return true;
  }
  __device__ void run_rest() { run_rows<Scattered>(); }
  // Runs a flat task in which every lane has one element at most.
  __device__ void run_single() {
    run_elements<Single>(0, memory_.rows.columns);
  }

  // The two halves of a unit without special cases. The first gathers the
  // values of its lanes,
  __device__ Row stream_unit(u32 unit) {
    const Slice slice = slice_of(unit);
    LoosePacks share{memory_};
    Row row;
    begin_rows(row, share, slice.group);
    P::each_gathered(Part<1>{}, row, Begin{});
    if (share.is_on) {
      share.column = first_column<LoosePacks>(slice.number);
      run_stream(row, share, share.template stream<Packs::kPieces>());
      run_stream(row, share, share.template stream<1>());
    }
    return row;
  }
  // and the second uses them, and returns the half for the next join.
  __device__ u32 finish_unit(u32 unit, Row& row) {
    const Slice slice = slice_of(unit);
    LoosePacks share{memory_};
    place_in(slice.group, share);
    share.find_row();
    finish_loop<0>(row, share, slice);
    return half_;
  }

 private:
  static __device__ u32* join_scratch(const Task& task) {
    return static_cast<u32*>(const_cast<void*>(task.state)) + kJoinWords;
  }

  // Says which rows and slices a worker has. Slices take the packs of a row by
  // turns, so that all workers move through memory side by side.
  struct Slice {
    u32 group;
    u32 number;
  };

  // The loads of all parts, in place of one Part.
  struct All {};

  template <typename W>
  using ColumnsOf = typename P::template Columns<W::N>;
  // Returns how many contiguous columns one lane takes.
  template <typename W>
  static __device__ constexpr u32 wide() {
    return W::kPackWidth;
  }

  __device__ bool run_elements() {
    constexpr bool kHasPacks = P::kIsFlat || !kIsLong<P>;
    const u64 columns = memory_.rows.columns;
    u64 begin = 0;
    // Loads that element early if each lane has one at most.
    if (columns > lane_.count()) {
      if (kHasPacks && memory_.has_packs) {
        if constexpr (kHasPacks) {
          begin = columns - columns % P::kWidth;
          run_elements<Packs>(0, begin);
        }
      } else if constexpr (!P::kIsFlat) {
        return false;
      } else if constexpr (!kIsLong<P>) {
        begin = columns;
        run_elements<Scattered>(0, begin);
      }
      if (begin == columns) return true;
    }
    run_elements<Single>(begin, columns);
    return true;
  }

  template <typename W>
  __device__ void run_elements(u64 begin, u64 end) {
    Row row;
    W share{memory_};
    share.end = end;
    share.step = lane_.count() * wide<W>();
    share.is_first = lane_.index() == 0;
    P::row(Part<0>{}, row, share);
    run_columns<1>(row, share, begin + u64{lane_.index()} * wide<W>());
    P::row(Part<2>{}, row, share);
  }

  template <u32 kPart, typename W>
  __device__ void run_columns(Row& row, W& share, u64 first) {
#pragma unroll 1
    for (share.column = first; share.column < share.end; share.go_on()) {
      ColumnsOf<W> x;
      load(Part<kPart>{}, share, x);
      P::loop(Part<kPart>{}, row, x, share);
    }
  }
  // Whole packs without special cases.
  template <typename W, typename M>
  __device__ void run_stream(Row& row, W& share, M stream) {
    const u64 before_last = u64{stream.step} * (M::kPieces - 1);
#pragma unroll 1
    for (; stream.column + before_last < share.end; stream.go_on()) {
      ColumnsOf<M> x;
      P::load(Part<1>{}, x, stream);
      P::loop(Part<1>{}, row, x, stream);
    }
    share.column = stream.column;
  }

  // Finds the lane's elements and loads them. If no piece needs a check, all
  // loads are in flight before the first use.
  template <typename L, typename W, typename X>
  __device__ void load(L part, W& share, X& x) {
    if (share.is_packed()) {
      share.find_packed();
      load_from(part, x, PackedLoads<W>{share});
    } else {
      share.find();
      load_from(part, x, share);
    }
  }
  template <u32 kPart, typename X, typename M>
  static __device__ void load_from(Part<kPart> part, X& x, const M& from) {
    P::load(part, x, from);
  }
  template <typename X, typename M>
  static __device__ void load_from(All, X& x, const M& from) {
    P::load_all(x, from);
  }

  template <typename W>
  __device__ void place_in(u32 group, W& share) {
    const u32 row_lanes = memory_.rows.row_lanes;
    const u32 rows = group_rows(memory_.rows);
    const bool transposed = memory_.is(kTransposed);
    const u32 lane = threadIdx.x;
    const u32 number =
        transposed ? lane & (rows - 1) : lane >> log2_of(row_lanes);
    sub_ = transposed ? lane >> log2_of(rows) : lane & (row_lanes - 1);
    share.row = u64{group} * rows + number;
    share.is_on =
        number < rows && sub_ < row_lanes && share.row < memory_.rows.rows;
    share.is_first = sub_ == 0;
    share.step = memory_.rows.slices * row_lanes * wide<W>();
    share.end = memory_.rows.columns;
  }

  template <typename W>
  __device__ u64 first_column(u32 slice) const {
    return (u64{slice} * memory_.rows.row_lanes + sub_) * wide<W>();
  }

  template <typename W>
  __device__ void begin_rows(Row& row, W& share, u32 group) {
    place_in(group, share);
    share.find_row();
    P::row(Part<0>{}, row, share);
  }

  // `keeps`: the lanes can hold the whole row, which is then read once.
  template <u32 L, typename W>
  __device__ void run_loop(Row& row, ColumnsOf<W>& x, W& share, u32 slice,
                           bool keeps) {
    P::each_gathered(Part<2 * L + 1>{}, row, Begin{});
    const u64 first = first_column<W>(slice);
    if constexpr (P::kLoops == 1) {
      if (share.is_on) run_columns<1>(row, share, first);
    } else if (share.is_on) {
#pragma unroll 1
      for (share.column = first; share.column < share.end; share.go_on()) {
        if (!keeps)
          load(Part<2 * L + 1>{}, share, x);
        else if (L == 0)
          load(All{}, share, x);
        P::loop(Part<2 * L + 1>{}, row, x, share);
      }
    }
  }

  // Returns false if another worker continues.
  template <u32 L, typename W>
  __device__ bool finish_loop(Row& row, W& share, const Slice& slice) {
    P::each_gathered(Part<2 * L + 1>{}, row, Join{*this});
    if constexpr (P::kLoops == 1) {
      if (memory_.is(kSliced) && !put_together(row, share, slice)) return false;
    }
    P::row(Part<2 * L + 2>{}, row, share);
    return true;
  }

  // This worker runs all slices of a row in order.
  template <u32 L, typename W>
  __device__ void run_slices(Row& row, ColumnsOf<W>& x, W& share) {
    Row gathered = row;
    P::each_gathered(Part<2 * L + 1>{}, gathered, Begin{});
#pragma unroll 1
    for (u32 slice = 0; slice < memory_.rows.slices; ++slice) {
      run_loop<L>(row, x, share, slice, false);
      P::each_gathered(Part<2 * L + 1>{}, row, Join{*this});
      if (slice % memory_.rows.row_lanes != sub_) continue;
      P::each_gathered(Part<2 * L + 1>{}, row, Regather{});
      gathered = row;
    }
    row = gathered;
  }

  template <u32 L, typename W>
  __device__ void run_loops(Row& row, ColumnsOf<W>& x, W& share,
                            const Slice& slice, bool keeps) {
    if constexpr (L < P::kLoops) {
      if (P::kIsOrdered && P::kLoops > 1 && memory_.rows.slices > 1)
        run_slices<L>(row, x, share);
      else
        run_loop<L>(row, x, share, slice.number, keeps);
      if (!finish_loop<L>(row, share, slice)) return;
      run_loops<L + 1>(row, x, share, slice, keeps);
    }
  }

  __device__ Slice slice_of(u32 unit) const {
    if (!memory_.is(kSliced)) return {unit, 0};
    if (unit < memory_.rows.slices) return {0, unit};
    return {unit / memory_.rows.slices, unit % memory_.rows.slices};
  }

  template <typename W>
  __device__ void run_rows() {
    const bool keeps =
        P::kLoops > 1 && W::N >= W::kPackWidth &&
        memory_.rows.columns <= u64{memory_.rows.row_lanes} * W::N;
    const u32 units =
        groups(memory_.rows) * (memory_.is(kSliced) ? memory_.rows.slices : 1);
#pragma unroll 1
    for (u32 unit = lane_.tile(); unit < units; unit += lane_.tiles()) {
      const Slice slice = slice_of(unit);
      W share{memory_};
      Row row;
      ColumnsOf<W> x;
      begin_rows(row, share, slice.group);
      run_loops<0>(row, x, share, slice, keeps);
    }
  }

  // The last worker combines the slices of a group of rows. The others get
  // false.
  template <typename W>
  __device__ bool put_together(Row& row, W& share, const Slice& slice) {
    const Sharer me{share.row, slice.group, slice.number, sub_, share.is_on};
    if (!take_slices<P>(row, memory_.rows, me)) return false;
    P::each_gathered(Part<1>{}, row, Join{*this});
    return true;
  }

  // For all threads. Gives the row's value to all its lanes, in a fixed order.
  template <typename F>
  __device__ typename F::Type join(typename F::Type value) {
    using T = typename F::Type;
    constexpr u32 kWords = sizeof(T) / 4;
    const u32 row_lanes = memory_.rows.row_lanes;
    const bool transposed = memory_.is(kTransposed);
    u32 parts = row_lanes;   // that are put together by way of the scratch
    u32 from = threadIdx.x;  // the first of them
    u32 distance = group_rows(memory_.rows);
    if (transposed) {
      from -= sub_ * distance;
    } else {
      const u32 width =
          row_lanes < kJoinedLanes ? row_lanes : u32{kJoinedLanes};
#pragma unroll 1
      for (u32 d = width / 2; d > 0; d /= 2)
        value = F::both(value, shuffle_down(value, d, width));
      value = shuffle_first(value, width);
      parts = row_lanes / width;
      from -= sub_;
      distance = width;
    }
    if (parts == 1) return value;
    u32* const half = scratch_ + half_ * kJoinHalf;
    half_ ^= 1;
    if (transposed || threadIdx.x % kJoinedLanes == 0)
      put_words(half + threadIdx.x * kWords, value);
    __syncthreads();
    if (P::kIsOrdered && parts > kMostJoined) {
      join_far<F>(half, distance * kWords, row_lanes, sub_, value);
      return get_words<T>(half + from * kWords);
    }
    return join_parts<F>(half + from * kWords, distance * kWords, parts);
  }
  // Joins lanes of different warps by way of the scratch. The first lane of the
  // row leaves the row's value there. The function is static, because a call
  // that knows the tile's address would put the tile on the stack.
  template <typename F>
  static __device__ __noinline__ void join_far(u32* half, u32 distance,
                                               u32 row_lanes, u32 sub,
                                               typename F::Type value) {
    u32* const mine = half + threadIdx.x * (sizeof(typename F::Type) / 4);
    join_by_halves(row_lanes, sub, [&](bool takes, u32 lanes) {
      if (takes) {
        value = F::both(value,
                        get_words<typename F::Type>(mine + lanes * distance));
        put_words(mine, value);
      }
      __syncthreads();
    });
  }

  struct Join {
    Tile& tile;
    template <typename F>
    __device__ void operator()(Sums<F, 1>& g) const {
      g.values[0] = tile.template join<F>(g.values[0]);
    }
  };
  const TaskLayout<P> memory_;
  const Lane& lane_;
  u32* const scratch_;
  u32 sub_ = 0;  // which of its row's lanes this one is
  u32 half_ = 0;
};

}  // namespace program
}  // namespace gpuos
