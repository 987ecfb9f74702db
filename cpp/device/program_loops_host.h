// How one thread runs a pass of a compiled program: chunks of elements through
// small arrays, so that the code between loads and stores vectorises.
#pragma once

#include "program_reductions.h"

#if !defined(__CUDACC__)

namespace gpuos {
namespace program {

// Where a chunk lies: kElements columns of a row, or with R > 1 so many rows of
// one column.
template <typename P, u32 R>
struct Share {
  using Memory = Arguments<P::kAccesses, P::kScalars>;

  const Memory& memory;
  u64 row = 0;
  u64 column = 0;
  u32 count = 0;
  // The columns of the loop: reductions put these together.
  u64 first = 0;
  u64 columns = 0;

  u32 elements() const { return count; }
  u32 rows() const { return R == 1 ? 1 : count; }

  template <typename T>
  T scalar(u32 index) const {
    return memory.template scalar<T>(index);
  }

  template <u32 A, typename S, u32 N>
  void load(Vector<S, N>& to) const {
    each_run<A, S>(column, count, [&](u32 done, S* from, i64 stride, u32 run) {
      S* const out = to.values + done;
      if (stride == sizeof(S)) {
        GPUOS_EACH(w, run) out[w] = from[w];
      } else {
        const char* at = reinterpret_cast<const char*>(from);
        for (u32 w = 0; w < run; ++w, at += stride)
          out[w] = *reinterpret_cast<const S*>(at);
      }
    });
  }
  template <u32 A, typename S, u32 N>
  void store(const Vector<S, N>& from) const {
    store_values<A>(column, count, from.values);
  }
  template <u32 A, typename S>
  void load_row(PerRow<S, R>& to) const {
    each_run<A, S>(0, rows(), [&](u32 done, S* from, i64 stride, u32 run) {
      const char* at = reinterpret_cast<const char*>(from);
      for (u32 w = 0; w < run; ++w, at += stride)
        to.values[done + w] = *reinterpret_cast<const S*>(at);
    });
  }
  template <u32 A, typename S>
  void store_row(const PerRow<S, R>& from) const {
    store_values<A>(0, rows(), from.values);
  }

  template <typename F, typename T, u32 N>
  void gather(Sums<F, R>& gathered, const Vector<T, N>& from) const {
    if constexpr (R == 1 && N == kOrderedBlock)
      gathered.take_block(from.values, count, column - first, columns, first);
    else if constexpr (R == 1)
      gathered.take_chunk(from.values, count, column - first, columns, first);
    else
      gathered.take_rows(from.values, count, column, columns);
  }

 private:
  template <u32 A, typename S>
  void store_values(u64 first, u32 size, const S* values) const {
    each_run<A, S>(first, size, [&](u32 done, S* to, i64 stride, u32 run) {
      const S* const from = values + done;
      if (stride == sizeof(S)) {
        GPUOS_EACH(w, run) to[w] = from[w];
      } else {
        char* at = reinterpret_cast<char*>(to);
        for (u32 w = 0; w < run; ++w, at += stride)
          *reinterpret_cast<S*>(at) = from[w];
      }
    });
  }

  // Calls `f` for runs of elements along which access A has one stride.
  template <u32 A, typename S, typename F>
  void each_run(u64 first_column, u32 size, F f) const {
    char* const base = memory.address(A);
    if (memory.is(kFlat)) {
      const i64 stride = memory.walks(A) ? sizeof(S) : 0;
      f(0, reinterpret_cast<S*>(base + static_cast<i64>(first_column) * stride),
        stride, size);
      return;
    }
    const u32 outer = memory.outer();
    const u32 first = R == 1 ? outer : 0;
    const u32 last = R == 1 ? memory.dims() : outer;
    const i64* strides = memory.strides_of(A);
    const i64 fixed = R == 1 ? offset(strides, 0, outer, row)
                             : offset(strides, outer, memory.dims(), column);
    u64 number = R == 1 ? first_column : row;
    for (u32 done = 0; done < size;) {
      u32 run = size - done;
      i64 stride = 0;
      if (first != last) stride = strides[last - 1];
      if (last - first > 1) {
        const u64 left =
            memory.sizes[last - 1] - number % memory.sizes[last - 1];
        if (left < run) run = static_cast<u32>(left);
      }
      f(done,
        reinterpret_cast<S*>(base + fixed +
                             offset(strides, first, last, number)),
        stride, run);
      done += run;
      number += run;
    }
  }

  // Bytes from the first element to number `number` of dimensions
  // [first, last).
  i64 offset(const i64* strides, u32 first, u32 last, u64 number) const {
    i64 bytes = 0;
    for (u32 d = last; d > first + 1; --d) {
      const u64 size = memory.sizes[d - 1];
      bytes += static_cast<i64>(number % size) * strides[d - 1];
      number /= size;
    }
    return last > first ? bytes + static_cast<i64>(number) * strides[first]
                        : bytes;
  }
};

// One tile of a pass.
template <typename P>
class Tile {
 public:
  using Memory = Arguments<P::kAccesses, P::kScalars>;
  enum : u32 {
    N = P::kElements,
    // Side by side: fewer where several loops read them, which keeps them in
    // the level-one cache, and where much is gathered on the stack.
    kAllRows = P::kLoops == 1 && sizeof(typename P::template Row<N>) <= 1 << 18,
    kRows = kAllRows || N < 128 ? u32{N} : 128u
  };
  static_assert(kOrderedBlock % N == 0, "a chunk lies in one block");

  Tile(const Task& task, const Lane& lane)
      : memory_(task), tile_(lane.tile()), tiles_(lane.tiles()) {}

  void run() {
    if constexpr (!P::kReduces) {
      run_elements();
    } else {
      if (memory_.is(kSliced))
        run_slice();
      else if (memory_.is(kTransposed))
        run_many_rows();
      else
        run_rows();
    }
  }

 private:
  struct Range {
    u64 begin, end;
  };
  static Range range_of(u64 total, u64 tile, u64 tiles) {
    const u64 whole = total / tiles;
    const u64 rest = total % tiles;
    const u64 begin = tile * whole + (tile < rest ? tile : rest);
    return {begin, begin + whole + (tile < rest ? 1 : 0)};
  }

  Range slice_of(u64 slice, u64 slices) const {
    const u64 columns = memory_.rows.columns;
    const u64 size = slice_columns(columns, slices);
    const u64 end = (slice + 1) * size;
    return {slice * size, end < columns ? end : columns};
  }

  template <u32 L, u32 R>
  void run_loop(typename P::template Row<R>& row, Share<P, R>& share,
                Range columns) {
    typename P::template Columns<N> x;
    const u64 step = R == 1 ? N : 1;
    const u32 count = share.count;
    share.first = columns.begin;
    share.columns = columns.end - columns.begin;
    for (share.column = columns.begin; share.column < columns.end;
         share.column += step) {
      const u64 left = columns.end - share.column;
      if (R == 1) share.count = left < N ? static_cast<u32>(left) : N;
      P::load(Part<2 * L + 1>{}, x, share);
      P::loop(Part<2 * L + 1>{}, row, x, share);
    }
    share.column = 0;
    share.count = count;
    P::each_gathered(Part<2 * L + 1>{}, row,
                     [&](auto& g) { g.finish(share.columns, share.rows()); });
  }

  template <u32 L, u32 R>
  void run_loops(typename P::template Row<R>& row, Share<P, R>& share) {
    if constexpr (L < P::kLoops) {
      run_loop<L, R>(row, share, {0, memory_.rows.columns});
      P::row(Part<2 * L + 2>{}, row, share);
      run_loops<L + 1, R>(row, share);
    }
  }

  void run_elements() {
    typename P::template Row<1> row;
    Share<P, 1> share{memory_};
    P::row(Part<0>{}, row, share);
    run_loop<0, 1>(row, share, range_of(memory_.rows.columns, tile_, tiles_));
    if (tile_ == 0) P::row(Part<2>{}, row, share);
  }

  void run_rows() {
    const Range rows = range_of(memory_.rows.rows, tile_, tiles_);
    for (u64 number = rows.begin; number < rows.end; ++number) {
      typename P::template Row<1> row;
      Share<P, 1> share{memory_, number};
      P::row(Part<0>{}, row, share);
      run_loops<0, 1>(row, share);
    }
  }

  void run_many_rows() {
    const Range rows = range_of(memory_.rows.rows, tile_, tiles_);
    for (u64 first = rows.begin; first < rows.end; first += kRows) {
      const u64 left = rows.end - first;
      typename P::template Row<kRows> row;
      Share<P, kRows> share{memory_, first, 0,
                            left < kRows ? static_cast<u32>(left) : kRows};
      P::row(Part<0>{}, row, share);
      run_loops<0, kRows>(row, share);
    }
  }

  // One slice of a row; who comes last puts them together.
  void run_slice() {
    if constexpr (P::kLoops == 1) {
      const u64 slices = memory_.rows.slices;
      const u64 number = tile_ / slices;
      typename P::template Row<1> row;
      Share<P, 1> share{memory_, number};
      P::row(Part<0>{}, row, share);
      run_loop<0, 1>(row, share, slice_of(tile_ % slices, slices));
      u32* const counters = reinterpret_cast<u32*>(memory_.rows.gathered);
      char* const all = reinterpret_cast<char*>(counters + memory_.rows.rows);
      u64 bytes = 0;
      P::each_gathered(Part<1>{}, row,
                       [&](auto& g) { bytes += sizeof(g.values[0]); });
      char* to = all + tile_ * bytes;
      P::each_gathered(Part<1>{}, row, [&](auto& g) {
        __builtin_memcpy(to, g.values, sizeof(g.values[0]));
        to += sizeof(g.values[0]);
      });
      // Releases this slice, and acquires the others for the last one.
      const u32 before =
          __atomic_fetch_add(counters + number, 1, __ATOMIC_ACQ_REL);
      if (before + 1 != slices) return;
      __atomic_store_n(counters + number, 0, __ATOMIC_RELAXED);
      const char* from = all + number * slices * bytes;
      P::each_gathered(Part<1>{}, row, [&]<typename F>(Sums<F, 1>& g) {
        for (u64 slice = 0; slice < slices; ++slice) {
          __builtin_memcpy(g.values, from + slice * bytes, sizeof(g.values[0]));
          g.push(slice, 1);
        }
        g.finish_tree(slices, 1);
        from += sizeof(g.values[0]);
      });
      P::row(Part<2>{}, row, share);
    }
  }

  const Memory memory_;
  const u64 tile_;
  const u64 tiles_;
};

template <typename P>
inline void run(const Task& task, const Lane& lane) {
  Tile<P>(task, lane).run();
}

}  // namespace program
}  // namespace gpuos

#endif
