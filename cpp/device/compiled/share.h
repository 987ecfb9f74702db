// The elements of a pass that a lane of the device has, and how it reads and
// writes them.
#pragma once

#include "compiled/stream.h"

namespace gpuos {
namespace program {

// The elements of one lane: pieces of kWide columns of a row, each read at
// once. A lane has packs of kPack columns, and neighbouring lanes have
// neighbouring packs.
template <typename P, u32 kWide, u32 kCount, u32 kPack = kWide>
struct Share {
  enum : u32 {
    N = kWide * kCount,
    kPieceWidth = kWide,
    kPackWidth = kPack,
    kPieces = kCount,
    kOfPack = kPack / kWide  // pieces
  };
  static_assert(kPack == kWide || N <= kPack || N % kPack == 0);

  const TaskLayout<P>& memory;
  u64 row = 0;
  u64 column = 0;                     // the first one
  u64 end = 0;                        // columns from here on belong to others
  u32 step = kPack;                   // from pack to pack
  bool is_on = true;                  // has a row
  bool is_first = true;               // of the lanes of its row
  u32 valid = 0;                      // bit p: piece p is there
  u64 starts[P::kAccesses][1];        // addresses: of the row,
  u64 places[P::kAccesses][kPieces];  // and of the pieces

  static __device__ constexpr u32 elements() { return N; }
  static __device__ constexpr u32 rows() { return 1; }

  // Returns the distance of a piece from `column`.
  __device__ u64 distance_of(u32 piece) const {
    if constexpr (kOfPack == 1) return u64{piece} * step;
    return u64{piece / kOfPack} * step + piece % kOfPack;
  }
  __device__ u64 column_of(u32 piece) const {
    return column + distance_of(piece);
  }
  __device__ void go_on() {
    if constexpr (N < kPack)
      column = column_after(column, N, step);
    else
      column += distance_of(kPieces);
  }

  template <typename T>
  __device__ T scalar(u32 index) const {
    return memory.template scalar<T>(index);
  }

  // Finds where the row begins.
  __device__ void find_row() {
    if constexpr (P::kReduces) {
#pragma unroll
      for (u32 a = 0; a < P::kAccesses; ++a) starts[a][0] = memory.args[a];
      u64 number[1] = {row};
      walk<1>(starts, number, 0, memory.outer());
    }
  }
  __device__ u64 start(u32 access) const {
    return P::kReduces ? starts[access][0] : memory.args[access];
  }

  // Finds the pieces from `column` on.
  __device__ void find() {
    valid = 0;
#pragma unroll
    for (u32 p = 0; p < kPieces; ++p)
      if (column_of(p) < end) valid |= 1u << p;
    if (memory.is_even()) {
      find_even();
      return;
    }
    u64 numbers[kPieces];
#pragma unroll
    for (u32 p = 0; p < kPieces; ++p) numbers[p] = column_of(p);
#pragma unroll
    for (u32 a = 0; a < P::kAccesses; ++a)
#pragma unroll
      for (u32 p = 0; p < kPieces; ++p) places[a][p] = start(a);
    walk<kPieces>(places, numbers, memory.outer(), memory.dims());
  }

  // Returns whether no piece needs a check before it is loaded. find_plain()
  // then does what find() does.
  __device__ bool is_packed() const {
    return kWide > 1 && memory.is_packed && column_of(kPieces - 1) < end;
  }
  __device__ void find_packed() {
    valid = (1u << kPieces) - 1;
#pragma unroll
    for (u32 a = 0; a < P::kAccesses; ++a) {
      const u64 first = start(a) + column * P::bytes(a);
#pragma unroll
      for (u32 p = 0; p < kPieces; ++p)
        places[a][p] = first + u64{p * step} * P::bytes(a);
    }
  }

  // Finds the pieces from `column` on, if no piece needs a check.
  template <u32 kAtOnce>
  __device__ StreamedPieces<P, kWide, kAtOnce> stream() const {
    StreamedPieces<P, kWide, kAtOnce> stream{memory, column, step, {}};
#pragma unroll
    for (u32 a = 0; a < P::kAccesses; ++a)
      stream.places[a] = start(a) + column * P::bytes(a);
    return stream;
  }

  template <u32 A, typename S>
  __device__ void load(Vector<S, N>& to) const {
#pragma unroll
    for (u32 p = 0; p < kPieces; ++p) {
      const bool is_there = (valid >> p & 1) != 0;
      const S* from = reinterpret_cast<const S*>(places[A][p]);
      Vector<S, kWide> piece{};
      if (kWide == 1 || !(memory.side_by_side >> A & 1)) {
        if (is_there) piece[0] = *from;
#pragma unroll
        for (u32 w = 1; w < kWide; ++w) piece[w] = piece[0];
      } else if (is_there) {
        piece = load_vector<kWide>(from);
      }
#pragma unroll
      for (u32 w = 0; w < kWide; ++w) to[p * kWide + w] = piece[w];
    }
  }
  template <u32 A, typename S>
  __device__ void store(const Vector<S, N>& from) const {
#pragma unroll
    for (u32 p = 0; p < kPieces; ++p) {
      if (!(valid >> p & 1)) continue;
      Vector<S, kWide> piece;
#pragma unroll
      for (u32 w = 0; w < kWide; ++w) piece[w] = from[p * kWide + w];
      store_vector(reinterpret_cast<S*>(places[A][p]), piece);
    }
  }
  template <u32 A, typename S>
  __device__ void load_row(PerRow<S, 1>& to) const {
    to(0) = is_on ? *reinterpret_cast<const S*>(start(A)) : S{};
  }
  template <u32 A, typename S>
  __device__ void store_row(const PerRow<S, 1>& from) const {
    if (is_on && is_first) *reinterpret_cast<S*>(start(A)) = from(0);
  }

  template <typename F, typename T>
  __device__ void gather(Sums<F, 1>& gathered, const Vector<T, N>& from) const {
#pragma unroll
    for (u32 p = 0; p < kPieces; ++p) {
      if (!(valid >> p & 1)) continue;
      const u64 number = column_of(p);
#pragma unroll
      for (u32 w = 0; w < kWide; ++w)
        gathered.values[0] =
            F::both(gathered.values[0], F::of(from[p * kWide + w], number + w));
    }
  }

 private:
  __device__ void find_even() {
#pragma unroll
    for (u32 a = 0; a < P::kAccesses; ++a) {
      const i64 stride = memory.column_stride(a);
      const u64 first = start(a) + column * static_cast<u64>(stride);
#pragma unroll
      for (u32 p = 0; p < kPieces; ++p)
        places[a][p] = first + distance_of(p) * static_cast<u64>(stride);
    }
  }

  // Moves `to` along dimensions [first, last), for the given `numbers`.
  template <u32 kWalked>
  __device__ void walk(u64 (&to)[P::kAccesses][kWalked],
                       u64 (&numbers)[kWalked], u32 first, u32 last) {
#pragma unroll 1
    for (u32 d = last; d > first; --d) {
      u64 digits[kWalked];
#pragma unroll
      for (u32 p = 0; p < kWalked; ++p) {
        digits[p] = numbers[p];
        if (d - 1 == first) continue;
        const Divider by = memory.dividers[d - 1];
        // A task without reductions has 2^31 elements at most.
        numbers[p] = by.template quotient<P::kReduces != 0>(numbers[p]);
        digits[p] -= numbers[p] * by.size;
      }
      const i64* along = memory.strides + (d - 1);
#pragma unroll
      for (u32 a = 0; a < P::kAccesses; ++a, along += memory.dims())
#pragma unroll
        for (u32 p = 0; p < kWalked; ++p)
          to[a][p] += digits[p] * static_cast<u64>(*along);
    }
  }
};

// Loads without checks. All of them are in flight before the first use.
template <typename W>
struct PackedLoads {
  const W& share;

  template <u32 A, typename S, u32 N>
  __device__ void load(Vector<S, N>& to) const {
    constexpr u32 kWide = W::kPieceWidth;
#pragma unroll
    for (u32 p = 0; p < N; p += kWide) {
      const auto piece = load_vector<kWide>(
          reinterpret_cast<const S*>(share.places[A][p / kWide]));
#pragma unroll
      for (u32 w = 0; w < kWide; ++w) to[p + w] = piece[w];
    }
  }
};

}  // namespace program
}  // namespace gpuos
