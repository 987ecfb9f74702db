// How the workers of the device run a pass of a compiled program.
#pragma once

#include "memory.h"
#include "program_share.h"

namespace gpuos {
namespace program {

enum : u32 {
  kEveryLane = 0xffffffffu,
  // Where joins keep values in the scratch, in words: behind the dividers, in
  // two halves by turns, so that one barrier a join is enough.
  kJoinWords = 64,
  kJoinHalf = 256 * 4
};

// A value as words.
template <typename T>
struct Words {
  u32 words[sizeof(T) / 4];
};

template <typename T>
__device__ inline T shuffle_down(const T& value, u32 distance, u32 width) {
  Words<T> words = bit_cast<Words<T>>(value);
#pragma unroll
  for (u32 i = 0; i < sizeof(T) / 4; ++i)
    words.words[i] =
        __shfl_down_sync(kEveryLane, words.words[i], distance, width);
  return bit_cast<T>(words);
}
template <typename T>
__device__ inline T shuffle_first(const T& value, u32 width) {
  Words<T> words = bit_cast<Words<T>>(value);
#pragma unroll
  for (u32 i = 0; i < sizeof(T) / 4; ++i)
    words.words[i] = __shfl_sync(kEveryLane, words.words[i], 0, width);
  return bit_cast<T>(words);
}
template <typename T>
__device__ inline void put_words(u32* to, const T& value) {
  const Words<T> words = bit_cast<Words<T>>(value);
#pragma unroll
  for (u32 i = 0; i < sizeof(T) / 4; ++i) to[i] = words.words[i];
}
template <typename T>
__device__ inline T get_words(const u32* from) {
  Words<T> words;
#pragma unroll
  for (u32 i = 0; i < sizeof(T) / 4; ++i) words.words[i] = from[i];
  return bit_cast<T>(words);
}

template <typename P>
class Tile {
 public:
  using Row = typename P::template Row<1>;
  // Several pieces, or elements that lie anywhere.
  using Packs = Share<P, P::kWidth, P::kElements / P::kWidth>;
  using Apart = Share<P, 1, P::kApart>;
  using Single = Share<P, 1, 1>;

  __device__ Tile(const Task& task, const Lane& lane)
      : memory_(task),
        lane_(lane),
        scratch_(static_cast<u32*>(const_cast<void*>(task.state)) +
                 kJoinWords) {}

  __device__ void run() {
    if constexpr (!P::kReduces) {
      run_elements();
    } else {
      if (memory_.has_packs)
        run_rows<Packs>();
      else
        run_rows<Apart>();
    }
  }

 private:
  // Which rows, and which of their columns: all, unless workers share them.
  struct Slice {
    u32 group;
    u32 number;
    u64 begin;
    u64 end;
  };

  template <typename W>
  using ColumnsOf = typename P::template Columns<W::N>;
  template <typename W>
  static __device__ constexpr u32 wide() {
    return W::kPieceWidth;
  }

  __device__ void run_elements() {
    const u64 columns = memory_.columns();
    u64 begin = 0;
    // Where everybody has one element at most, that one soon.
    if (columns > lane_.count()) {
      if (memory_.has_packs) {
        begin = columns - columns % P::kWidth;
        run_elements<Packs>(0, begin);
      } else if (P::kApart > 1) {
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
    run_row_part<0>(row, share);
    const u64 step = u64{lane_.count()} * W::N;
#pragma unroll 1
    for (share.column = begin + u64{lane_.index()} * wide<W>();
         share.column < share.end; share.column += step) {
      ColumnsOf<W> x;
      if (share.is_plain()) {
        share.find_plain();
        P::load(Part<1>{}, x, PlainLoads<W>{share});
      } else {
        share.find();
        P::load(Part<1>{}, x, share);
      }
      P::loop(Part<1>{}, row, x, share);
    }
    run_row_part<2>(row, share);
  }

  // `column` is moved away from the row's first.
  template <u32 kPart, typename W>
  __device__ void run_row_part(Row& row, W& share) {
    if constexpr (P::kReadsRows) {
      share.column = 0;
      share.template find<1>();
    }
    P::row(Part<kPart>{}, row, share);
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
    if (share.is_on) {
      const u64 step = u64{memory_.rows.row_lanes} * W::N;
#pragma unroll 1
      for (share.column = begin + u64{sub_} * wide<W>();
           share.column < share.end; share.column += step) {
        share.find();
        if (!keeps)
          P::load(Part<2 * L + 1>{}, x, share);
        else if (L == 0)
          P::load_all(x, share);
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
      run_row_part<2 * L + 2>(row, share);
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
      run_row_part<0>(row, share);
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

  struct Begin {
    template <typename F>
    __device__ void operator()(Sums<F, 1>& g) const {
      g.begin();
    }
  };
  struct Join {
    Tile& tile;
    template <typename F>
    __device__ void operator()(Sums<F, 1>& g) const {
      g.values[0] = tile.template join<F>(g.values[0]);
    }
  };
  struct Size {
    u32 words;
    template <typename F>
    __device__ void operator()(Sums<F, 1>&) {
      words += sizeof(typename F::Type) / 4;
    }
  };
  struct Keep {
    u32* to;
    template <typename F>
    __device__ void operator()(Sums<F, 1>& g) {
      put_words(to, g.values[0]);
      to += sizeof(typename F::Type) / 4;
    }
  };
  struct Gather {
    const u32* from;
    u32 distance;
    u32 first;
    u32 slices;
    u32 step;
    template <typename F>
    __device__ void operator()(Sums<F, 1>& g) {
      g.begin();
#pragma unroll 1
      for (u32 slice = first; slice < slices; slice += step) {
        Words<typename F::Type> words;
#pragma unroll
        for (u32 i = 0; i < sizeof(words) / 4; ++i)
          words.words[i] = __ldcg(from + u64{slice} * distance + i);
        g.values[0] = F::both(g.values[0], bit_cast<typename F::Type>(words));
      }
      from += sizeof(typename F::Type) / 4;
    }
  };

  const Memory<P> memory_;
  const Lane& lane_;
  u32* const scratch_;
  u32 sub_ = 0;  // which of its row's lanes this one is
  u32 is_odd_ = 0;
};

template <typename P>
__device__ inline void run(const Task& task, const Lane& lane) {
  Tile<P>(task, lane).run();
}

}  // namespace program
}  // namespace gpuos
