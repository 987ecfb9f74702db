// Which elements of a pass a lane of the device has, and how it reads and
// writes them.
#pragma once

#include "program_divider.h"
#include "program_reductions.h"
#include "program_tiles.h"

namespace gpuos {
namespace program {

// What all lanes of a worker know of the task.
template <typename P>
struct Memory : Arguments<P::kAccesses, P::kScalars> {
  using Base = Arguments<P::kAccesses, P::kScalars>;

  // At the beginning of the worker's scratch, one for each dimension.
  Divider* dividers;
  // Bit a: a pack of access a lies side by side; else it is one element.
  u32 side_by_side;
  // Whether kWidth elements that follow each other can be read at once, for
  // each access. Only of a flat task there may be fewer at the end.
  bool has_packs;
  // A matrix that some accesses walk along rows and others along columns.
  bool is_tiled;

  // All threads.
  __device__ Memory(const Task& task)
      : Base(task),
        dividers(static_cast<Divider*>(const_cast<void*>(task.state))),
        side_by_side(this->shape.flat),
        has_packs(P::kWidth > 1 && !this->is(kTransposed)),
        is_tiled(false) {
    if (this->is(kFlat)) {
#pragma unroll 1
      for (u32 a = 0; a < P::kAccesses; ++a)
        if (this->walks(a) && this->args[a] % pack_bytes(a) != 0)
          has_packs = false;
      return;
    }
    const u32 lane = threadIdx.x;
    const u32 dims = this->dims();
    if (lane < dims) dividers[lane] = Divider::of(this->sizes[lane]);
    side_by_side = 0;
#pragma unroll 1
    for (u32 a = 0; a < P::kAccesses; ++a)
      if (dims != 0 && this->strides_of(a)[dims - 1] != 0)
        side_by_side |= 1u << a;
    const bool is_odd = this->shape.inner_dims == 0 ||
                        this->sizes[dims - 1] % P::kWidth != 0 ||
                        (lane < P::kAccesses && !lies_in_packs(lane));
    if (__syncthreads_or(is_odd)) has_packs = false;
    if (P::kReduces || has_packs || dims != 2 || this->sizes[0] < kTileSide ||
        this->sizes[1] < kTileSide)
      return;
    if (lane == 0) tile_divider() = Divider::of(tiles_along(1));
    const bool is_column =
        lane < P::kAccesses && this->strides_of(lane)[0] == P::bytes(lane);
    is_tiled = __syncthreads_or(is_column) != 0;
  }

  // Behind those of the dimensions.
  __device__ Divider& tile_divider() const { return dividers[16]; }
  __device__ u32 tiles_along(u32 dim) const {
    return (this->sizes[dim] + kTileSide - 1) / kTileSide;
  }
  // Of a task without reductions. Tiles at the edges count whole.
  __device__ u64 columns() const {
    return is_tiled ? u64{tiles_along(0)} * tiles_along(1) * kTileElements
                    : this->rows.columns;
  }

  // Flat, and every access walks.
  __device__ bool is_plain() const {
    constexpr u32 kEvery = P::kAccesses == 32 ? ~0u : (1u << P::kAccesses) - 1;
    return this->is(kFlat) && this->shape.flat == kEvery;
  }
  __device__ static u32 pack_bytes(u32 access) {
    return P::bytes(access) * P::kWidth;
  }
  // Where the last dimension does not stay at one element.
  __device__ bool lies_in_packs(u32 access) const {
    const i64* strides = this->strides_of(access);
    const u32 last = this->dims() - 1;
    if (strides[last] == 0) return true;
    u64 bits = this->args[access];
#pragma unroll 1
    for (u32 d = 0; d < last; ++d) bits |= static_cast<u64>(strides[d]);
    return strides[last] == P::bytes(access) && bits % pack_bytes(access) == 0;
  }
};

// The elements of one lane: pieces of kWide columns of a row, each read at
// once. Neighbouring lanes have neighbouring pieces.
template <typename P, u32 kWide, u32 kPieces>
struct Share {
  enum : u32 { N = kWide * kPieces, kPieceWidth = kWide };

  const Memory<P>& memory;
  u64 row = 0;
  u64 column = 0;        // the first one
  u64 end = 0;           // columns from here on belong to others
  u32 step = kWide;      // from piece to piece
  bool is_on = true;     // has a row
  bool is_first = true;  // of the lanes of its row
  u32 valid = 0;         // bit p: piece p is there
  char* places[P::kAccesses][kPieces];

  static __device__ constexpr u32 elements() { return N; }
  static __device__ constexpr u32 rows() { return 1; }

  __device__ u64 column_of(u32 piece) const {
    return column + u64{piece} * step;
  }

  template <typename T>
  __device__ T scalar(u32 index) const {
    return memory.template scalar<T>(index);
  }

  // Finds the addresses of `kCount` pieces from `column` on.
  template <u32 kCount = kPieces>
  __device__ void find() {
    valid = 0;
#pragma unroll
    for (u32 p = 0; p < kCount; ++p)
      if (column_of(p) < end) valid |= 1u << p;
#pragma unroll
    for (u32 a = 0; a < P::kAccesses; ++a)
#pragma unroll
      for (u32 p = 0; p < kCount; ++p) places[a][p] = memory.address(a);
    if (memory.is(kFlat)) {
#pragma unroll
      for (u32 a = 0; a < P::kAccesses; ++a)
#pragma unroll
        for (u32 p = 0; p < kCount; ++p)
          if (memory.walks(a)) places[a][p] += column_of(p) * P::bytes(a);
      return;
    }
    if constexpr (!P::kReduces && kWide == 1) {
      if (memory.is_tiled) {
        find_tiled<kCount>();
        return;
      }
    }
    u64 numbers[kCount];
    if constexpr (P::kReduces) {
#pragma unroll
      for (u32 p = 0; p < kCount; ++p) numbers[p] = row;
      find_along<kCount>(numbers, 0, memory.outer());
    }
#pragma unroll
    for (u32 p = 0; p < kCount; ++p) numbers[p] = column_of(p);
    find_along<kCount>(numbers, memory.outer(), memory.dims());
  }

  // The same where every access walks.
  __device__ void find_plain() {
    valid = (1u << kPieces) - 1;
#pragma unroll
    for (u32 a = 0; a < P::kAccesses; ++a) {
      char* const first = memory.address(a) + column * P::bytes(a);
#pragma unroll
      for (u32 p = 0; p < kPieces; ++p)
        places[a][p] = first + u64{p * step} * P::bytes(a);
    }
  }
  // Whether no piece needs a look before it is loaded or stored.
  __device__ bool is_plain() const {
    return kWide > 1 && memory.is_plain() && column_of(kPieces - 1) < end;
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
    to(0) = is_on ? *reinterpret_cast<const S*>(places[A][0]) : S{};
  }
  template <u32 A, typename S>
  __device__ void store_row(const PerRow<S, 1>& from) const {
    if (is_on && is_first) *reinterpret_cast<S*>(places[A][0]) = from(0);
  }

  template <typename F, typename T>
  __device__ void gather(Sums<F, 1>& gathered, const Vector<T, N>& from) const {
#pragma unroll
    for (u32 p = 0; p < kPieces; ++p) {
      const u64 number = column_of(p);
      if (number >= end) continue;
#pragma unroll
      for (u32 w = 0; w < kWide; ++w)
        gathered.values[0] =
            F::both(gathered.values[0], F::of(from[p * kWide + w], number + w));
    }
  }

 private:
  template <u32 kCount>
  __device__ void find_tiled() {
#pragma unroll
    for (u32 p = 0; p < kCount; ++p) {
      const u64 number = column_of(p);
      const u64 tile = number / kTileElements;
      const u64 down = memory.tile_divider().template quotient<false>(tile);
      const u64 along = tile - down * memory.tile_divider().size;
      const TilePlace in = place_in_tile(number % kTileElements);
      const u64 i = down * kTileSide + in.row;
      const u64 j = along * kTileSide + in.column;
      if (i >= memory.sizes[0] || j >= memory.sizes[1]) valid &= ~(1u << p);
#pragma unroll
      for (u32 a = 0; a < P::kAccesses; ++a)
        places[a][p] += static_cast<i64>(i) * memory.strides[2 * a] +
                        static_cast<i64>(j) * memory.strides[2 * a + 1];
    }
  }

  // Along dimensions [first, last), of which `numbers` are numbers.
  template <u32 kCount>
  __device__ void find_along(u64 (&numbers)[kCount], u32 first, u32 last) {
#pragma unroll 1
    for (u32 d = last; d > first; --d) {
      u64 digits[kCount];
#pragma unroll
      for (u32 p = 0; p < kCount; ++p) {
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
        for (u32 p = 0; p < kCount; ++p)
          places[a][p] += static_cast<i64>(digits[p]) * *along;
    }
  }
};

// Loads that need no look: all of them are under way before the first is used.
template <typename W>
struct PlainLoads {
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
