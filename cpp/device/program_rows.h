// Rows that the lanes of a worker keep in registers through all loops of a
// pass: the usual case of a softmax or a norm, with little code, because most
// of such a short task's time goes into fetching code.
#pragma once

#include "program_gathered.h"
#include "program_stream.h"

namespace gpuos {
namespace program {

// What a lane has of a row: pieces of kWide columns. Neighbouring lanes have
// neighbouring pieces.
template <typename P>
struct KeptRow {
  enum : u32 {
    kWide = P::kWidth,
    N = P::kElements,
    kPieces = P::kElements / P::kWidth
  };

  Arguments<P::kAccesses, P::kScalars> task;
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
  using Told = Arguments<P::kAccesses, P::kScalars>;

  // Whether all that the loops read and write lies side by side, in rows that
  // need no table elsewhere. All threads find the same.
  static __device__ bool are_plain(const Told& x) {
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
  // Whether plain rows are for run().
  static __device__ bool fit(const Told& x) {
    return !x.is(kSliced) && x.rows.row_lanes >= kWarp &&
           x.rows.columns <= u64{x.rows.row_lanes} * P::kElements;
  }

  __device__ KeptRows(const Task& task, const Lane& lane)
      : x_{Told(task)},
        lane_(lane),
        scratch_(static_cast<u32*>(const_cast<void*>(task.state)) +
                 kJoinWords) {}

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
      find(row);
      Row values;
      Columns columns;
      P::row(Part<0>{}, values, x_);
      P::load_all(columns, x_);
      run_loops<0>(values, columns);
    }
  }

 private:
  enum : u32 { kWarp = 32 };
  using Row = typename P::template Row<1>;
  using Columns = typename P::template Columns<P::kElements>;

  __device__ void find(u32 row) {
#pragma unroll
    for (u32 a = 0; a < P::kAccesses; ++a) {
      x_.starts[a] = x_.task.args[a];
      if (x_.task.outer() != 0)
        x_.starts[a] += static_cast<u64>(x_.task.strides_of(a)[0]) * row;
    }
  }

  template <u32 L>
  __device__ void run_loops(Row& row, const Columns& columns) {
    if constexpr (L < P::kLoops) {
      P::each_gathered(Part<2 * L + 1>{}, row, Begin{});
      P::loop(Part<2 * L + 1>{}, row, columns, x_);
      P::each_gathered(Part<2 * L + 1>{}, row, Join{*this});
      P::row(Part<2 * L + 2>{}, row, x_);
      run_loops<L + 1>(row, columns);
    }
  }

  // The row's value to all its lanes. All threads.
  template <typename F>
  __device__ typename F::Type join(typename F::Type value) {
    using T = typename F::Type;
    constexpr u32 kWords = sizeof(T) / 4;
#pragma unroll
    for (u32 d = kWarp / 2; d > 0; d /= 2)
      value = F::both(value, shuffle_down(value, d, kWarp));
    const u32 warps = x_.task.rows.row_lanes / kWarp;
    if (warps == 1) return shuffle_first(value, kWarp);
    u32* const half = scratch_ + half_ * kJoinHalf;
    half_ ^= 1;
    const u32 warp = threadIdx.x / kWarp;
    if (threadIdx.x % kWarp == 0) put_words(half + warp * kWords, value);
    __syncthreads();
    const u32* const from = half + (warp & ~(warps - 1)) * kWords;
    value = get_words<T>(from);
    // Without a loop, so that all of them are under way together.
#pragma unroll
    for (u32 k = 1; k < kMostJoined; ++k)
      if (k < warps) value = F::both(value, get_words<T>(from + k * kWords));
    return value;
  }

  struct Join {
    KeptRows& rows;
    template <typename F>
    __device__ void operator()(Sums<F, 1>& g) const {
      g.values[0] = rows.template join<F>(g.values[0]);
    }
  };

  KeptRow<P> x_;
  const Lane& lane_;
  u32* const scratch_;
  u32 half_ = 0;
};

}  // namespace program
}  // namespace gpuos
