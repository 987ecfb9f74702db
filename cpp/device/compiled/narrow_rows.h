// Small tasks whose elements lie anywhere: rows with few columns, and elements,
// a few for each lane. Such a task spends most of its time on fetching code and
// on words that depend on others. So the code is short and has no barrier.
#pragma once

#include "compiled/gathered.h"
#include "compiled/stream.h"

namespace gpuos {
namespace program {

// A lane's part of a narrow row: kCount columns, each loaded by itself.
template <typename P, u32 kCount>
struct NarrowRow {
  enum : u32 { N = kCount };

  TaskArguments<P::kAccesses, P::kScalars> task;
  u32 end = 0;               // the columns, or 0 for a lane without a row
  u32 column = 0;            // the first one
  u64 starts[P::kAccesses];  // addresses of the row
  u64 steps[P::kAccesses];   // bytes from column to column

  static __device__ constexpr u32 elements() { return N; }
  static __device__ constexpr u32 rows() { return 1; }

  template <typename T>
  __device__ T scalar(u32 index) const {
    return task.template scalar<T>(index);
  }

  // Loads all words of the table at once.
  __device__ void find_steps() {
#pragma unroll
    for (u32 a = 0; a < P::kAccesses; ++a)
      steps[a] = static_cast<u64>(task.strides_of(a)[task.outer()]);
  }
  // Finds place `row` of the first `dims` dimensions.
  __device__ void find(u32 row, u32 dims) {
#pragma unroll
    for (u32 a = 0; a < P::kAccesses; ++a) starts[a] = task.args[a];
#pragma unroll 1
    for (u32 d = dims; d > 0; --d) {
      const u32 size = task.sizes[d - 1];
      const u32 rest = d == 1 ? 0 : row / size;
      const i64* along = task.strides + (d - 1);
#pragma unroll
      for (u32 a = 0; a < P::kAccesses; ++a, along += task.dims())
        starts[a] += (row - rest * size) * static_cast<u64>(*along);
      row = rest;
    }
  }
  __device__ bool has(u32 w) const { return column + w < end; }
  template <typename S>
  __device__ S* place(u32 access, u32 w) const {
    return reinterpret_cast<S*>(starts[access] + (column + w) * steps[access]);
  }

  template <u32 A, typename S>
  __device__ void load(Vector<S, N>& to) const {
#pragma unroll
    for (u32 w = 0; w < N; ++w) to[w] = has(w) ? *place<const S>(A, w) : S{};
  }
  template <u32 A, typename S>
  __device__ void store(const Vector<S, N>& from) const {
#pragma unroll
    for (u32 w = 0; w < N; ++w)
      if (has(w)) *place<S>(A, w) = from[w];
  }
  template <u32 A, typename S>
  __device__ void load_row(PerRow<S, 1>& to) const {
    to(0) = end != 0 ? *reinterpret_cast<const S*>(starts[A]) : S{};
  }
  template <u32 A, typename S>
  __device__ void store_row(const PerRow<S, 1>& from) const {
    if (end != 0 && column == 0) *reinterpret_cast<S*>(starts[A]) = from(0);
  }

  template <typename F, typename T>
  __device__ void gather(Sums<F, 1>& gathered, const Vector<T, N>& from) const {
#pragma unroll
    for (u32 w = 0; w < N; ++w)
      if (has(w)) gather_piece<1>(gathered, from, w, column + w);
  }
};

// Runs rows that a part of a warp has, if each lane has little. KeptRows takes
// those of a whole warp.
template <typename P>
class NarrowRows {
 public:
  using Told = TaskArguments<P::kAccesses, P::kScalars>;

  // All threads find the same.
  static __device__ bool fit(const Told& x, const Lane& lane) {
    constexpr u32 kMostTurns = 4;
    // Several loops use what was loaded at once.
    constexpr u32 kMost = (P::kLoops == 1 ? kMostTurns : 1) * kPackColumns;
    const u32 row_lanes = x.rows.row_lanes;
    return (x.shape.flags & ~(kTransposed | kFarTable)) == kRows &&
           x.shape.inner_dims == 1 && x.rows.slices == 1 &&
           row_lanes < WarpJoin::kWarp && x.rows.columns <= row_lanes * kMost &&
           x.rows.rows <= lane.tiles() * group_rows(x.rows) * kMostTurns;
  }

  __device__ NarrowRows(const Told& told, const Lane& lane)
      : x_{told}, lane_(lane), join_{told.rows.row_lanes} {
    x_.find_steps();
  }

  __device__ void run() {
    const u32 group = group_rows(x_.task.rows);
    const u32 number = threadIdx.x >> log2_of(x_.task.rows.row_lanes);
    const u32 distance = lane_.tiles() * group;
#pragma unroll 1
    for (u32 first = lane_.tile() * group; first < x_.task.rows.rows;
         first += distance) {
      const u32 row = first + number;
      const bool is_on = number < group && row < x_.task.rows.rows;
      x_.end = is_on ? static_cast<u32>(x_.task.rows.columns) : 0;
      x_.column = first_column();
      x_.find(is_on ? row : 0, x_.task.outer());
      Values values;
      Columns columns;
      P::row(Part<0>{}, values, x_);
      if constexpr (P::kLoops > 1) P::load_all(columns, x_);
      run_loops<0>(values, columns);
    }
  }

 private:
  using Row = NarrowRow<P, kPackColumns>;
  using Values = typename P::template Row<1>;
  using Columns = typename P::template Columns<Row::N>;

  struct Join {
    u32 lanes;

    template <typename F>
    __device__ void operator()(Sums<F, 1>& g) const {
      typename F::Type value = g.values[0];
#pragma unroll 1
      for (u32 d = lanes / 2; d > 0; d /= 2)
        value = F::both(value, shuffle_down(value, d, lanes));
      g.values[0] = shuffle_first(value, lanes);
    }
  };

  __device__ u32 first_column() const {
    return (threadIdx.x & (x_.task.rows.row_lanes - 1)) * kPackColumns;
  }

  template <u32 L>
  __device__ void run_loops(Values& row, Columns& columns) {
    if constexpr (L < P::kLoops) {
      P::each_gathered(Part<2 * L + 1>{}, row, Begin{});
      if constexpr (P::kLoops > 1) {
        P::loop(Part<2 * L + 1>{}, row, columns, x_);
      } else {
#pragma unroll 1
        for (; x_.column < x_.end;
             x_.column = static_cast<u32>(column_after(
                 x_.column, Row::N, x_.task.rows.row_lanes * kPackColumns))) {
          P::load(Part<1>{}, columns, x_);
          P::loop(Part<1>{}, row, columns, x_);
        }
        x_.column = first_column();
      }
      P::each_gathered(Part<2 * L + 1>{}, row, join_);
      P::row(Part<2 * L + 2>{}, row, x_);
      run_loops<L + 1>(row, columns);
    }
  }

  Row x_;
  const Lane& lane_;
  const Join join_;
};

// Runs elements that lie anywhere, of which each lane has a few.
template <typename P>
__device__ __noinline__ void run_few(Task task, Lane lane) {
  NarrowRow<P, 1> x{TaskArguments<P::kAccesses, P::kScalars>(task)};
  x.end = static_cast<u32>(x.task.rows.columns);
#pragma unroll
  for (u32 a = 0; a < P::kAccesses; ++a) x.steps[a] = 0;
#pragma unroll 1
  for (x.column = lane.index(); x.column < x.end; x.column += lane.count()) {
    typename P::template Row<1> row;
    typename P::template Columns<1> columns;
    x.find(x.column, x.task.dims());
    P::row(Part<0>{}, row, x);
    P::load(Part<1>{}, columns, x);
    P::loop(Part<1>{}, row, columns, x);
    P::row(Part<2>{}, row, x);
  }
}

}  // namespace program
}  // namespace gpuos
