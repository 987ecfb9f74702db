// Runs a pass of a compiled program on one thread. Chunks of elements go
// through small arrays, so that the code between loads and stores vectorises.
#pragma once

#include "compiled/reductions.h"
#include "interpreter/slices.h"

#if !defined(__CUDACC__)

namespace gpuos {
namespace program {

// Describes a chunk: kElements columns of a row, or with R > 1 as many rows of
// one column.
template <typename P, u32 R>
struct Share {
  using Told = TaskArguments<P::kAccesses, P::kScalars>;

  const Told& memory;
  u64 row = 0;
  u64 column = 0;
  u32 count = 0;
  // The columns of the loop. Reductions combine them.
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
      if (stride == sizeof(S) && run >= kLeastVector) {
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
  // In vectors, a shorter run takes longer.
  enum : u32 { kLeastVector = 16 };

  template <u32 A, typename S>
  void store_values(u64 first, u32 size, const S* values) const {
    each_run<A, S>(first, size, [&](u32 done, S* to, i64 stride, u32 run) {
      const S* const from = values + done;
      if (stride == sizeof(S) && run >= kLeastVector) {
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
    memory.each_run(A, sizeof(S),
                    {row, R == 1 ? first_column : column, size, R != 1},
                    [&](const Run& run) {
                      char* at = base + run.offset;
                      u64 done = run.done;
                      for (u64 r = 0; r < run.runs; ++r, at += run.between) {
                        f(static_cast<u32>(done), reinterpret_cast<S*>(at),
                          run.stride, static_cast<u32>(run.count));
                        done += run.count;
                      }
                    });
  }
};

// One tile of a pass.
template <typename P>
class Tile {
 public:
  using Told = TaskArguments<P::kAccesses, P::kScalars>;
  enum : u32 {
    N = P::kElements,
    // The rows side by side. There are fewer if several loops read them, which
    // keeps them in the level-one cache, or if much is gathered on the stack.
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

  // Runs one slice of a row. The last worker combines the slices.
  void run_slice() {
    if constexpr (P::kLoops == 1) {
      const u64 slices = memory_.rows.slices;
      const u64 number = tile_ / slices;
      typename P::template Row<1> row;
      Share<P, 1> share{memory_, number};
      P::row(Part<0>{}, row, share);
      run_loop<0, 1>(row, share, columns_of(memory_.rows, tile_ % slices));
      char* const all = reinterpret_cast<char*>(
          reinterpret_cast<u32*>(memory_.rows.gathered) + memory_.rows.rows);
      u64 bytes = 0;
      P::each_gathered(Part<1>{}, row,
                       [&](auto& g) { bytes += sizeof(g.values[0]); });
      char* to = all + tile_ * bytes;
      P::each_gathered(Part<1>{}, row, [&](auto& g) {
        __builtin_memcpy(to, g.values, sizeof(g.values[0]));
        to += sizeof(g.values[0]);
      });
      if (!is_last_slice(memory_.rows, number)) return;
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

  const Told memory_;
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
