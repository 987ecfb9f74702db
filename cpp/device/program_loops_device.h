// How the workers of the device run a pass of a compiled program.
#pragma once

#include "program_gathered.h"
#include "program_share.h"
#include "program_tiles.h"

namespace gpuos {
namespace program {

enum : u32 {
  // Where joins keep values in the scratch, in words: behind the dividers, in
  // two halves by turns, so that one barrier a join is enough.
  kJoinWords = 64,
  kJoinHalf = 256 * 4
};

template <typename P>
class Tile {
 public:
  using Row = typename P::template Row<1>;
  // Several pieces, or elements that lie anywhere.
  using Packs = Share<P, P::kWidth, P::kElements / P::kWidth>;
  using LoosePacks = Share<P, P::kWidth, 1>;
  using Apart = Share<P, 1, P::kApart>;
  using Single = Share<P, 1, 1>;
  // What does little else than wait for memory has a loop of its own, which
  // takes longer to compile.
  static constexpr bool kStreams = P::kReduces && P::kLoops == 1 &&
                                   P::kApart > 1 && P::kElements > P::kWidth;

  __device__ Tile(const Task& task, const Lane& lane)
      : memory_(task),
        lane_(lane),
        scratch_(static_cast<u32*>(const_cast<void*>(task.state)) +
                 kJoinWords) {}

  // False if it has to be run_rest().
  __device__ bool run() {
    if constexpr (!P::kReduces) {
      run_elements();
    } else {
      if (!(kStreams ? memory_.is_plain : memory_.has_packs)) return false;
      run_rows<Packs>();
    }
    return true;
  }
  __device__ void run_rest() {
    if constexpr (kStreams) {
      if (memory_.has_packs) return run_rows<LoosePacks>();
    }
    run_rows<Apart>();
  }

 private:
  // Which rows, and which of their columns: all, unless workers share them.
  struct Slice {
    u32 group;
    u32 number;
    u64 begin;
    u64 end;
  };

  // Instead of a Part: the loads of all of them.
  struct All {};

  template <typename W>
  using ColumnsOf = typename P::template Columns<W::N>;
  template <typename W>
  static __device__ constexpr u32 wide() {
    return W::kPieceWidth;
  }

  __device__ void run_elements() {
    // What takes long to compile, and to run, is written out less often.
    constexpr bool kIsLong = P::kApart == 1;
    const u64 columns = memory_.rows.columns;
    u64 begin = 0;
    // Where everybody has one element at most, that one soon.
    if (columns > lane_.count()) {
      if (memory_.has_packs && (P::kIsFlat || !kIsLong)) {
        if constexpr (P::kIsFlat || !kIsLong) {
          begin = columns - columns % P::kWidth;
          run_elements<Packs>(0, begin);
        }
      } else if (run_tiles()) {
        return;
      } else if constexpr (!kIsLong) {
        begin = columns;
        run_elements<Apart>(0, begin);
      }
      if (begin == columns) return;
    }
    run_elements<Single>(begin, columns);
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

  // The same tile by tile; false if that is not better.
  __device__ bool run_tiles() {
    if constexpr (P::kIsFlat) return false;
    const Tiles tiles = find_tiles(memory_, lane_.tiles());
    if (tiles.turned == 0) return false;
    Row row;
    Single whole{memory_};
    whole.is_first = lane_.index() == 0;
    P::row(Part<0>{}, row, whole);
    TileShare<P, P::kApart == 1 ? 1 : 2 * P::kApart> share{memory_, tiles};
#pragma unroll 1
    for (u32 tile = lane_.tile(); tile < tiles.count; tile += lane_.tiles()) {
#pragma unroll 1
      for (share.begin(tile); !share.is_done(); share.go_on()) {
        ColumnsOf<decltype(share)> x;
        P::load(Part<1>{}, x, share);
        P::loop(Part<1>{}, row, x, share);
      }
    }
    P::row(Part<2>{}, row, whole);
    return true;
  }

  template <u32 kPart, typename W>
  __device__ void run_columns(Row& row, W& share, u64 first) {
    share.column = first;
    if constexpr (kStreams && W::kPieceWidth > 1 && W::kPieces > 1) {
      // Whole packs, all of them plain.
      run_stream<kPart>(row, share, share.template stream<W::kPieces>());
      run_stream<kPart>(row, share, share.template stream<1>());
    } else {
      const u64 step = u64{share.step} * W::kPieces;
#pragma unroll 1
      for (; share.column < share.end; share.column += step) {
        ColumnsOf<W> x;
        load(Part<kPart>{}, share, x);
        P::loop(Part<kPart>{}, row, x, share);
      }
    }
  }
  template <u32 kPart, typename W, typename M>
  __device__ void run_stream(Row& row, W& share, M stream) {
    const u64 before_last = (M::kPieces - 1) * stream.step;
#pragma unroll 1
    for (; stream.column + before_last < share.end; stream.go_on()) {
      ColumnsOf<M> x;
      P::load(Part<kPart>{}, x, stream);
      P::loop(Part<kPart>{}, row, x, stream);
    }
    share.column = stream.column;
  }

  // Finds the lane's elements and loads them: all loads are under way before
  // the first is used, where none needs a look.
  template <typename L, typename W, typename X>
  __device__ void load(L part, W& share, X& x) {
    if (share.is_plain()) {
      share.find_plain();
      load_from(part, x, PlainLoads<W>{share});
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
    const u32 rows = group_rows();
    const bool transposed = memory_.is(kTransposed);
    const u32 lane = threadIdx.x;
    const u32 number = transposed ? lane % rows : lane / row_lanes;
    sub_ = transposed ? lane / rows : lane % row_lanes;
    share.row = u64{group} * rows + number;
    share.is_on =
        number < rows && sub_ < row_lanes && share.row < memory_.rows.rows;
    share.is_first = sub_ == 0;
    share.step = row_lanes * wide<W>();
    share.end = memory_.rows.columns;
  }

  // `keeps`: the lanes have room for the whole row, which is read once.
  template <u32 L, typename W>
  __device__ void run_loop(Row& row, ColumnsOf<W>& x, W& share, u64 begin,
                           bool keeps) {
    P::each_gathered(Part<2 * L + 1>{}, row, Begin{});
    const u64 first = begin + u64{sub_} * wide<W>();
    if constexpr (P::kLoops == 1) {
      if (share.is_on) run_columns<1>(row, share, first);
    } else if (share.is_on) {
      const u64 step = u64{share.step} * W::kPieces;
#pragma unroll 1
      for (share.column = first; share.column < share.end;
           share.column += step) {
        if (!keeps)
          load(Part<2 * L + 1>{}, share, x);
        else if (L == 0)
          load(All{}, share, x);
        P::loop(Part<2 * L + 1>{}, row, x, share);
      }
    }
    P::each_gathered(Part<2 * L + 1>{}, row, Join{*this});
  }

  template <u32 L, typename W>
  __device__ void run_loops(Row& row, ColumnsOf<W>& x, W& share,
                            const Slice& slice, bool keeps) {
    if constexpr (L < P::kLoops) {
      run_loop<L>(row, x, share, slice.begin, keeps);
      if constexpr (P::kLoops == 1) {
        if (memory_.is(kSliced) && !put_together(row, share, slice)) return;
      }
      P::row(Part<2 * L + 2>{}, row, share);
      run_loops<L + 1>(row, x, share, slice, keeps);
    }
  }

  // Rows that a worker has at a time. The lanes left over have none.
  __device__ u32 group_rows() const {
    return memory_.rows.lanes / memory_.rows.row_lanes;
  }
  __device__ u32 groups() const {
    return (memory_.rows.rows + group_rows() - 1) / group_rows();
  }

  __device__ Slice slice_of(u32 unit) const {
    const u64 columns = memory_.rows.columns;
    if (!memory_.is(kSliced)) return {unit, 0, 0, columns};
    const u32 slices = memory_.rows.slices;
    // Whole packs, which then stay aligned.
    const u64 packs = (columns + P::kWidth - 1) / P::kWidth;
    const u64 each = (packs + slices - 1) / slices * P::kWidth;
    const u64 begin = min(each * (unit % slices), columns);
    return {unit / slices, unit % slices, begin, min(begin + each, columns)};
  }

  template <typename W>
  __device__ void run_rows() {
    const bool keeps = P::kLoops > 1 && memory_.rows.columns <=
                                            u64{memory_.rows.row_lanes} * W::N;
    const u32 units = groups() * memory_.rows.slices;
#pragma unroll 1
    for (u32 unit = lane_.tile(); unit < units; unit += lane_.tiles()) {
      const Slice slice = slice_of(unit);
      W share{memory_};
      place_in(slice.group, share);
      share.end = slice.end;
      Row row;
      ColumnsOf<W> x;
      share.find_row();
      P::row(Part<0>{}, row, share);
      run_loops<0>(row, x, share, slice, keeps);
    }
  }

  // The worker that comes last puts the slices of a group of rows together;
  // false for the others.
  template <typename W>
  __device__ bool put_together(Row& row, W& share, const Slice& slice) {
    const u32 slices = memory_.rows.slices;
    const u32 in_group = group_rows();
    Size size{0};
    P::each_gathered(Part<1>{}, row, size);
    const u32 distance = in_group * size.words;
    u32* kept = reinterpret_cast<u32*>(memory_.rows.gathered) + groups();
    kept += (u64{slice.group} * slices * in_group +
             static_cast<u32>(share.row - u64{slice.group} * in_group)) *
            size.words;
    if (share.is_on && share.is_first)
      P::each_gathered(Part<1>{}, row,
                       Keep{kept + u64{slice.number} * distance});
    if (!is_last_slice(slice.group)) return false;
    const u32 first = share.is_on ? sub_ : slices;
    P::each_gathered(
        Part<1>{}, row,
        Gather{kept, distance, first, slices, memory_.rows.row_lanes});
    P::each_gathered(Part<1>{}, row, Join{*this});
    return true;
  }

  // All threads. Counts the slice; the last worker sees what all have kept.
  __device__ bool is_last_slice(u32 group) {
    u32* counter = reinterpret_cast<u32*>(memory_.rows.gathered) + group;
    // Pairs with the same fence of the worker that comes last.
    fence_gpu();
    __syncthreads();
    if (threadIdx.x == 0)
      scratch_[0] = atomicInc(counter, memory_.rows.slices - 1) ==
                    memory_.rows.slices - 1;
    __syncthreads();
    const bool is_last = scratch_[0] != 0;
    __syncthreads();
    fence_gpu();
    return is_last;
  }

  // The row's value to all its lanes, in an order that depends on nothing
  // else. All threads.
  template <typename F>
  __device__ typename F::Type join(typename F::Type value) {
    using T = typename F::Type;
    constexpr u32 kWords = sizeof(T) / 4;
    const u32 row_lanes = memory_.rows.row_lanes;
    const bool transposed = memory_.is(kTransposed);
    u32 parts = row_lanes;   // that are put together by way of the scratch
    u32 from = threadIdx.x;  // the first of them
    u32 distance = group_rows();
    if (transposed) {
      from -= sub_ * distance;
    } else {
      const u32 width = row_lanes < 32 ? row_lanes : 32;
#pragma unroll 1
      for (u32 d = width / 2; d > 0; d /= 2)
        value = F::both(value, shuffle_down(value, d, width));
      value = shuffle_first(value, width);
      parts = row_lanes / width;
      from -= sub_;
      distance = width;
    }
    if (parts == 1) return value;
    u32* const half = scratch_ + is_odd_ * kJoinHalf;
    is_odd_ ^= 1;
    if (transposed || threadIdx.x % 32 == 0)
      put_words(half + threadIdx.x * kWords, value);
    __syncthreads();
    value = get_words<T>(half + from * kWords);
#pragma unroll 1
    for (u32 k = 1; k < parts; ++k)
      value =
          F::both(value, get_words<T>(half + (from + k * distance) * kWords));
    return value;
  }

  struct Join {
    Tile& tile;
    template <typename F>
    __device__ void operator()(Sums<F, 1>& g) const {
      g.values[0] = tile.template join<F>(g.values[0]);
    }
  };
  const Memory<P> memory_;
  const Lane& lane_;
  u32* const scratch_;
  u32 sub_ = 0;  // which of its row's lanes this one is
  u32 is_odd_ = 0;
};

// Calls, so that what is rare takes no registers from the rest.
template <typename P>
__device__ __noinline__ void run_strided(Task task, Lane lane) {
  Tile<PassOf<P, false>>(task, lane).run();
}
template <typename P>
__device__ __noinline__ void run_rest(Task task, Lane lane) {
  Tile<PassOf<P, false>>(task, lane).run_rest();
}

template <typename P>
__device__ inline void run(const Task& task, const Lane& lane) {
  if constexpr (P::kReduces) {
    if (!Tile<PassOf<P, false>>(task, lane).run()) run_rest<P>(task, lane);
  } else {
    const TaskShape shape =
        bit_cast<TaskShape>(task.args[1 + P::kAccesses + P::kScalars]);
    if (shape.flags & kFlat)
      Tile<PassOf<P, true>>(task, lane).run();
    else
      run_strided<P>(task, lane);
  }
}

}  // namespace program
}  // namespace gpuos
