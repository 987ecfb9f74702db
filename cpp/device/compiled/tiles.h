// Runs a matrix that some accesses walk along rows and others along columns, in
// square tiles. First the worker copies the accesses along columns into its
// scratch. Neighbouring lanes copy neighbouring elements of a column. Then the
// lanes walk along rows. This is a separate function, whose lanes keep almost
// nothing from tile to tile. Registers are for the loads in flight.
// docs/lab/tiles.md lists the other attempts.
#pragma once

#include "compiled/task_layout.h"

namespace gpuos {
namespace program {

// The strides of an access to a matrix, in bytes.
struct MatrixWalk {
  u64 start;
  u64 down;    // from row to row
  u64 across;  // from column to column
};

// Addresses the worker's scratch in shared memory. The compiler then reads it
// as such, and keeps no copies in registers after this is forgotten. With the
// generic address and an assumed __isShared(), ptxas 13.0 used its register for
// other values in the loop of run_tiles().
__device__ inline u32 scratch_of(const Task& task) {
  return static_cast<u32>(__cvta_generic_to_shared(task.state));
}
template <typename T>
__device__ inline T* in_scratch(u32 address) {
  return static_cast<T*>(__cvta_shared_to_generic(address));
}
__device__ __forceinline__ void forget(u32& scratch) {
  asm volatile("" : "+r"(scratch) : : "memory");
}

// Describes how a matrix is cut, and how its tiles are found. It is stored at
// the beginning of the scratch.
template <typename P>
struct Tiles {
  enum : u32 { kMostBits = 6, kLeastBits = 5 };

  MatrixWalk walks[P::kAccesses];
  const u64* scalars;
  u32 sizes[2];
  u32 turned;  // bit a: access a is copied
  u32 bits;    // of a side
  u32 slot;    // bytes of a copy
  u32 along;   // tiles in a row of tiles
  u32 count;   // tiles
  u32 first;   // the worker's
  u32 step;    // to its next one

  __device__ u32 side() const { return 1u << bits; }
};

// The offset of copies in the scratch, in bytes, and their largest number.
template <typename P>
constexpr u32 kCopiesAt = (sizeof(Tiles<P>) + 127) / 128 * 128;
template <typename P>
constexpr u32 kCopyRoom = abi::kScratchBytes - kCopiesAt<P>;

// Stores the tiles of a task in the scratch. Returns false if tiles do not pay.
// For all threads, which all find the same.
template <typename P>
__device__ inline bool find_tiles(const Task& task, const Lane& lane) {
  using Cut = Tiles<P>;
  const TaskArguments<P::kAccesses, P::kScalars> told(task);
  // Loads that element early if each lane has one at most.
  if (told.shape.inner_dims != 2 || told.shape.outer_dims != 0 ||
      told.rows.columns <= lane.count() || blockDim.x < 1u << Cut::kMostBits)
    return false;
  u32 widest = 0;
  u32 turned = 0;
#pragma unroll 1
  for (u32 a = 0; a < P::kAccesses; ++a) {
    const i64* strides = told.strides_of(a);
    if ((P::kLoads >> a & 1) == 0 || strides[0] != P::bytes(a) ||
        strides[1] == 0 || strides[1] == strides[0])
      continue;
    turned |= 1u << a;
    widest = max(widest, P::bytes(a));
  }
  if (turned == 0) return false;
  const u32 height = told.sizes[0];
  const u32 width = told.sizes[1];
  // Uses smaller tiles if there would not be one for each worker.
#pragma unroll 1
  for (u32 bits = Cut::kMostBits; bits >= Cut::kLeastBits; --bits) {
    const u32 side = 1u << bits;
    const u32 slot = widest * (side + 1) << bits;
    const u32 along = (width + side - 1) >> bits;
    const u32 count = along * ((height + side - 1) >> bits);
    if (__popc(turned) * slot > kCopyRoom<P> ||
        (count < lane.tiles() && bits != Cut::kLeastBits))
      continue;
    Cut& tiles = *in_scratch<Cut>(scratch_of(task));
    if (threadIdx.x == 0) {
      tiles.scalars = told.args + P::kAccesses;
      tiles.sizes[0] = height;
      tiles.sizes[1] = width;
      tiles.turned = turned;
      tiles.bits = bits;
      tiles.slot = slot;
      tiles.along = along;
      tiles.count = count;
      tiles.first = lane.tile();
      tiles.step = lane.tiles();
    }
    if (threadIdx.x < P::kAccesses) {
      const i64* strides = told.strides_of(threadIdx.x);
      tiles.walks[threadIdx.x] = {told.args[threadIdx.x],
                                  static_cast<u64>(strides[0]),
                                  static_cast<u64>(strides[1])};
    }
    return true;
  }
  return false;
}

// The type for copies of kBytes bytes.
template <u32 kBytes>
struct Bits {
  using type = u64;
};
template <>
struct Bits<1> {
  using type = u8;
};
template <>
struct Bits<2> {
  using type = u16;
};
template <>
struct Bits<4> {
  using type = u32;
};

// Loads an element that is read once, past the L1.
template <typename S>
__device__ inline S load_once(u64 from) {
#if __CUDA_ARCH__ >= 800
  if constexpr (sizeof(S) == 4) {
    u32 bits;
    asm volatile("ld.global.L1::no_allocate.u32 %0, [%1];"
                 : "=r"(bits)
                 : "l"(from));
    return bit_cast<S>(bits);
  }
  if constexpr (sizeof(S) == 8) {
    u64 bits;
    asm volatile("ld.global.L1::no_allocate.u64 %0, [%1];"
                 : "=l"(bits)
                 : "l"(from));
    return bit_cast<S>(bits);
  }
#endif
  return *reinterpret_cast<const S*>(from);
}

// The first row and column of a tile.
struct Corner {
  u32 top, left;

  __device__ u64 place(const MatrixWalk& walk) const {
    return walk.start + top * walk.down + left * walk.across;
  }
};

// Copies the part of a tile that one access reads. Each row of the copy has one
// element more than the tile, so that neighbours in a column are in different
// banks.
template <typename P, u32 A>
__device__ inline void copy_columns(const Tiles<P>& tiles, const Corner& corner,
                                    u32 to) {
  constexpr u32 kBytes = P::bytes(A);
  using S = typename Bits<kBytes>::type;
  constexpr u32 kTrip = kBytes < 4 ? 16 : 8;  // that are on the way together
  const u32 i = find_thread() & (tiles.side() - 1);
  const u32 step = blockDim.x >> tiles.bits;
  u32 j = find_thread() >> tiles.bits;
  if (j >= step || corner.top + i >= tiles.sizes[0]) return;
  const u32 width = min(tiles.side(), tiles.sizes[1] - corner.left);
  const MatrixWalk& walk = tiles.walks[A];
  to += (i * (tiles.side() + 1) + j) * kBytes;
  u64 from = corner.place(walk) + i * kBytes + j * walk.across;
  const u64 far = step * walk.across;
#pragma unroll 1
  for (; j + (kTrip - 1) * step < width; j += kTrip * step) {
    S trip[kTrip];
#pragma unroll
    for (u32 k = 0; k < kTrip; ++k, from += far) trip[k] = load_once<S>(from);
#pragma unroll
    for (u32 k = 0; k < kTrip; ++k, to += step * kBytes)
      *in_scratch<S>(to) = trip[k];
  }
#pragma unroll 1
  for (; j < width; j += step, from += far, to += step * kBytes)
    *in_scratch<S>(to) = load_once<S>(from);
}

// Copies all accesses along columns.
template <typename P, u32 A = 0>
__device__ inline void copy_tile(const Tiles<P>& tiles, const Corner& corner,
                                 u32 to) {
  if constexpr (A < P::kAccesses) {
    if constexpr (P::kLoads >> A & 1) {
      if (tiles.turned >> A & 1) {
        copy_columns<P, A>(tiles, corner, to);
        to += tiles.slot;
      }
    }
    copy_tile<P, A + 1>(tiles, corner, to);
  }
}

// A lane's elements of a tile: kCount of a column, a few rows apart.
template <typename P, u32 kCount>
struct TileShare {
  enum : u32 { N = kCount };

  u32 scratch;
  u32 row;                  // of the first element, in the tile
  u32 rows;                 // of the tile; 0 for lanes that have no column
  u64 first[P::kAccesses];  // addresses; of a copy in shared memory

  static __device__ constexpr u32 elements() { return N; }

  __device__ const Tiles<P>& tiles() const {
    return *in_scratch<Tiles<P>>(scratch);
  }
  template <typename T>
  __device__ T scalar(u32 index) const {
    return scalar_at<T>(tiles().scalars + index);
  }

  __device__ TileShare(u32 at, const Corner& corner) : scratch(at) {
    const u32 lane = find_thread();
    const u32 column = lane & (tiles().side() - 1);
    row = lane >> tiles().bits;
    rows = 0;
    if (corner.left + column < tiles().sizes[1] && row < step())
      rows = min(tiles().side(), tiles().sizes[0] - corner.top);
    u32 copies = scratch + kCopiesAt<P>;
#pragma unroll
    for (u32 a = 0; a < P::kAccesses; ++a) {
      if (is_turned(a)) {
        first[a] = copies + column * P::bytes(a) + row * copied_down(a);
        copies += tiles().slot;
      } else {
        const MatrixWalk& walk = tiles().walks[a];
        first[a] = corner.place(walk) + column * walk.across + row * walk.down;
      }
    }
  }
  template <u32 kOther>
  __device__ explicit TileShare(const TileShare<P, kOther>& other)
      : scratch(other.scratch), row(other.row), rows(other.rows) {
#pragma unroll
    for (u32 a = 0; a < P::kAccesses; ++a) first[a] = other.first[a];
  }

  __device__ bool has_all() const { return row + (N - 1) * step() < rows; }
  __device__ void go_on() {
    const u32 far = N * step();
    row += far;
#pragma unroll
    for (u32 a = 0; a < P::kAccesses; ++a) {
      if (is_turned(a))
        first[a] += far * copied_down(a);
      else
        first[a] += far * tiles().walks[a].down;
    }
    forget(scratch);
  }

  template <u32 A, typename S>
  __device__ void load(Vector<S, N>& to) const {
    if (is_turned(A)) {
      u32 from = static_cast<u32>(first[A]);
      const u32 far = step() * copied_down(A);
#pragma unroll
      for (u32 p = 0; p < N; ++p, from += far) to[p] = *in_scratch<S>(from);
    } else {
      u64 from = first[A];
      const u64 far = step() * tiles().walks[A].down;
#pragma unroll
      for (u32 p = 0; p < N; ++p, from += far) to[p] = load_once<S>(from);
    }
  }
  template <u32 A, typename S>
  __device__ void store(const Vector<S, N>& from) const {
    u64 to = first[A];
    const u64 far = step() * tiles().walks[A].down;
#pragma unroll
    for (u32 p = 0; p < N; ++p, to += far) *reinterpret_cast<S*>(to) = from[p];
  }

 private:
  __device__ bool is_turned(u32 access) const {
    return (P::kLoads & tiles().turned) >> access & 1;
  }
  // The rows between elements.
  __device__ u32 step() const { return blockDim.x >> tiles().bits; }
  __device__ u32 copied_down(u32 access) const {
    return P::bytes(access) * (tiles().side() + 1);
  }
};

// The values that exist once, not for each element.
template <typename P>
struct Whole {
  const TaskArguments<P::kAccesses, P::kScalars>& told;
  bool is_first;  // of all lanes

  static __device__ constexpr u32 rows() { return 1; }
  template <typename T>
  __device__ T scalar(u32 index) const {
    return told.template scalar<T>(index);
  }
  template <u32 A, typename S>
  __device__ void load_row(PerRow<S, 1>& to) const {
    to(0) = *reinterpret_cast<const S*>(told.args[A]);
  }
  template <u32 A, typename S>
  __device__ void store_row(const PerRow<S, 1>& from) const {
    if (is_first) *reinterpret_cast<S*>(told.args[A]) = from(0);
  }
};

// Runs all elements of a lane from `share` on, M::N at a time.
template <typename P, typename R, typename M>
__device__ inline void run_share(R& row, M& share) {
#pragma unroll 1
  for (; share.has_all(); share.go_on()) {
    typename P::template Columns<M::N> x;
    P::load(Part<1>{}, x, share);
    P::loop(Part<1>{}, row, x, share);
  }
}

// Runs a task whose tiles are found. All threads call it.
template <typename P>
__device__ __noinline__ void run_tiles(Task task, Lane lane) {
  using Told = TaskArguments<P::kAccesses, P::kScalars>;
  constexpr u32 kAtOnce = kIsLong<P> ? 1 : 2 * P::kScattered;
  typename P::template Row<1> row;
  P::row(Part<0>{}, row, Whole<P>{Told(task), lane.index() == 0});
  u32 scratch = scratch_of(task);
#pragma unroll 1
  for (u32 turn = 0;; ++turn) {
    __syncthreads();  // all are done with the tile before
    forget(scratch);
    Corner corner;
    {
      const Tiles<P>& tiles = *in_scratch<Tiles<P>>(scratch);
      const u32 number = tiles.first + turn * tiles.step;
      if (number >= tiles.count) break;
      corner = {number / tiles.along << tiles.bits,
                number % tiles.along << tiles.bits};
      copy_tile<P>(tiles, corner, scratch + kCopiesAt<P>);
    }
    __syncthreads();
    forget(scratch);
    TileShare<P, kAtOnce> share(scratch, corner);
    run_share<P>(row, share);
    if constexpr (kAtOnce > 1) {
      TileShare<P, 1> rest(share);
      run_share<P>(row, rest);
    }
  }
  P::row(Part<2>{}, row, Whole<P>{Told(task), lane.index() == 0});
}

}  // namespace program
}  // namespace gpuos
