// Rows that the lanes of a worker keep in registers through all loops of a
// pass. This is the usual case of a softmax or a norm. The code is short,
// because such a task spends most of its time on fetching code.
#pragma once

#include "compiled/gathered.h"
#include "compiled/stream.h"

namespace gpuos {
namespace program {

// A lane's part of a row: pieces of kWide columns. Neighbouring lanes have
// neighbouring pieces.
template <typename P>
struct KeptRow {
  enum : u32 {
    kWide = P::kWidth,
    N = P::kElements,
    kPieces = P::kElements / P::kWidth
  };

  TaskArguments<P::kAccesses, P::kScalars> task;
  u32 column = 0;            // the first one
  u32 step = 0;              // from piece to piece
  bool is_on = true;         // has a row
  u64 starts[P::kAccesses];  // addresses of the row

  static __device__ constexpr u32 elements() { return N; }
  static __device__ constexpr u32 rows() { return 1; }

  template <typename T>
  __device__ T scalar(u32 index) const {
    return task.template scalar<T>(index);
  }

  __device__ void find(u32 row) {
#pragma unroll
    for (u32 a = 0; a < P::kAccesses; ++a) {
      starts[a] = task.args[a];
      if (task.outer() != 0)
        starts[a] += static_cast<u64>(task.strides_of(a)[0]) * row;
    }
  }
  __device__ bool has(u32 piece) const {
    return is_on && column + piece * step < task.rows.columns;
  }
  template <typename S>
  __device__ u64 place(u32 access, u32 piece) const {
    return starts[access] + u64{column + piece * step} * sizeof(S);
  }

  template <u32 A, typename S>
  __device__ void load(Vector<S, N>& to) const {
#pragma unroll
    for (u32 p = 0; p < kPieces; ++p) {
      Vector<S, kWide> piece{};
      if (has(p))
        piece = load_vector<kWide>(reinterpret_cast<const S*>(place<S>(A, p)));
#pragma unroll
      for (u32 w = 0; w < kWide; ++w) to[p * kWide + w] = piece[w];
    }
  }
  template <u32 A, typename S>
  __device__ void store(const Vector<S, N>& from) const {
#pragma unroll
    for (u32 p = 0; p < kPieces; ++p) {
      if (!has(p)) continue;
      Vector<S, kWide> piece;
#pragma unroll
      for (u32 w = 0; w < kWide; ++w) piece[w] = from[p * kWide + w];
      store_vector(reinterpret_cast<S*>(place<S>(A, p)), piece);
    }
  }
  template <u32 A, typename S>
  __device__ void load_row(PerRow<S, 1>& to) const {
    to(0) = is_on ? *reinterpret_cast<const S*>(starts[A]) : S{};
  }
  template <u32 A, typename S>
  __device__ void store_row(const PerRow<S, 1>& from) const {
    if (is_on && column == 0) *reinterpret_cast<S*>(starts[A]) = from(0);
  }

  template <typename F, typename T>
  __device__ void gather(Sums<F, 1>& gathered, const Vector<T, N>& from) const {
#pragma unroll
    for (u32 p = 0; p < kPieces; ++p)
      if (has(p))
        gather_piece<kWide>(gathered, from, p * kWide, column + p * step);
  }
};

template <typename P>
class KeptRows {
 public:
  using Told = TaskArguments<P::kAccesses, P::kScalars>;

  // Returns whether all accesses of the loops are contiguous, in rows that need
  // no far table. All threads find the same.
  static __device__ bool are_packed(const Told& x) {
    if ((x.shape.flags & ~kSliced) != kRows || x.shape.inner_dims != 1 ||
        x.shape.outer_dims > 1)
      return false;
    u64 odd = x.rows.columns % P::kWidth;
    odd |= x.rows.lanes ^ blockDim.x;
#pragma unroll
    for (u32 a = 0; a < P::kAccesses; ++a) {
      if (!(P::kColumns >> a & 1)) continue;
      const i64* strides = x.strides_of(a);
      const u64 row = x.outer() == 0 ? 0 : static_cast<u64>(strides[0]);
      odd |= static_cast<u64>(strides[x.outer()]) ^ P::bytes(a);
      odd |= (x.args[a] | row) % (P::bytes(a) * P::kWidth);
    }
    return odd == 0;
  }
  // Returns whether run() can take plain rows of this shape.
  static __device__ bool fit(const Told& x) {
    return !x.is(kSliced) && x.rows.row_lanes >= WarpJoin::kWarp &&
           x.rows.columns <= u64{x.rows.row_lanes} * P::kElements;
  }

  __device__ KeptRows(const Task& task, const Lane& lane)
      : x_{Told(task)}, lane_(lane), join_(task, x_.task.rows.row_lanes) {}

  __device__ void run() {
    const RowShape& rows = x_.task.rows;
    const u32 bits = log2_of(rows.row_lanes);
    const u32 sub = threadIdx.x & (rows.row_lanes - 1);
    x_.column = sub * P::kWidth;
    x_.step = rows.row_lanes * P::kWidth;
    const u32 distance = lane_.total >> bits;
#pragma unroll 1
    for (u32 first = lane_.first >> bits; first < rows.rows;
         first += distance) {
      const u32 row = first + (threadIdx.x >> bits);
      x_.is_on = row < rows.rows;
      x_.find(row);
      Row values;
      Columns columns;
      P::row(Part<0>{}, values, x_);
      P::load_all(columns, x_);
      run_loops<0>(values, columns);
    }
  }

 private:
  using Row = typename P::template Row<1>;
  using Columns = typename P::template Columns<P::kElements>;

  template <u32 L>
  __device__ void run_loops(Row& row, const Columns& columns) {
    if constexpr (L < P::kLoops) {
      P::each_gathered(Part<2 * L + 1>{}, row, Begin{});
      P::loop(Part<2 * L + 1>{}, row, columns, x_);
      P::each_gathered(Part<2 * L + 1>{}, row, join_);
      P::row(Part<2 * L + 2>{}, row, x_);
      run_loops<L + 1>(row, columns);
    }
  }

  KeptRow<P> x_;
  const Lane& lane_;
  WarpJoin join_;
};

}  // namespace program
}  // namespace gpuos
