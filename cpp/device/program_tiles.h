// A matrix that some accesses walk along rows and others along columns. Square
// tiles of it, by turns: first the worker copies what lies along columns into
// its scratch, neighbouring lanes neighbouring elements of a column; then they
// go along rows.
#pragma once

#include "program_places.h"

namespace gpuos {
namespace program {

// How a matrix is cut.
struct Tiles {
  u32 turned = 0;  // bit a: access a is copied; 0: there are no tiles
  u32 bits = 0;    // of a side
  u32 slot = 0;    // bytes of a copy
  u32 along = 0;   // tiles in a row of tiles
  u32 count = 0;   // tiles

  __device__ u32 side() const { return 1u << bits; }
};

enum : u32 {
  kMostTileBits = 6,
  kLeastTileBits = 5,
  kTileCopiesAt = 256,  // in the scratch, behind the dividers
  kTileRoom = abi::kScratchBytes - kTileCopiesAt
};

template <typename P>
__device__ inline bool is_turned(const Memory<P>& memory, u32 access) {
  const i64* strides = memory.strides_of(access);
  return (P::kLoads >> access & 1) && strides[0] == P::bytes(access) &&
         strides[1] != 0 && strides[1] != strides[0];
}

// All threads, which all find the same.
template <typename P>
__device__ inline Tiles find_tiles(const Memory<P>& memory, u32 workers) {
  Tiles tiles;
  if (memory.is_even() || memory.dims() != 2 ||
      blockDim.x < 1u << kMostTileBits)
    return tiles;
  u32 widest = 0;
  u32 turned = 0;
#pragma unroll 1
  for (u32 a = 0; a < P::kAccesses; ++a) {
    if (!is_turned(memory, a)) continue;
    turned |= 1u << a;
    widest = max(widest, P::bytes(a));
  }
  if (turned == 0) return tiles;
  // Smaller ones where there would not be one for each worker.
#pragma unroll 1
  for (u32 bits = kMostTileBits; bits >= kLeastTileBits; --bits) {
    tiles.bits = bits;
    tiles.slot = widest * (tiles.side() + 1) << bits;
    tiles.along = (memory.sizes[1] + tiles.side() - 1) >> bits;
    tiles.count = tiles.along * ((memory.sizes[0] + tiles.side() - 1) >> bits);
    if (__popc(turned) * tiles.slot <= kTileRoom &&
        (tiles.count >= workers || bits == kLeastTileBits)) {
      tiles.turned = turned;
      break;
    }
  }
  return tiles;
}

// What so many bytes are copied as.
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

// This lane, read again where it is needed: the compiler would keep all that
// follows from it in local memory from tile to tile, out of the L1's reach.
__device__ inline u32 read_lane() {
  u32 lane;
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(lane));
  return lane;
}

// An element that is read once: past the L1, so that it keeps local memory.
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

// Of shared memory, by its own addresses: half as many registers.
template <typename S>
__device__ inline S load_shared_as(u32 from) {
  if constexpr (sizeof(S) == 1) {
    u32 bits;
    asm volatile("ld.shared.u8 %0, [%1];" : "=r"(bits) : "r"(from));
    return bit_cast<S>(static_cast<u8>(bits));
  } else if constexpr (sizeof(S) == 2) {
    u16 bits;
    asm volatile("ld.shared.u16 %0, [%1];" : "=h"(bits) : "r"(from));
    return bit_cast<S>(bits);
  } else if constexpr (sizeof(S) == 4) {
    u32 bits;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(bits) : "r"(from));
    return bit_cast<S>(bits);
  } else {
    u64 bits;
    asm volatile("ld.shared.u64 %0, [%1];" : "=l"(bits) : "r"(from));
    return bit_cast<S>(bits);
  }
}
__device__ inline void store_shared_as(u32 to, u8 bits) {
  asm volatile("st.shared.u8 [%0], %1;" ::"r"(to), "r"(u32{bits}) : "memory");
}
__device__ inline void store_shared_as(u32 to, u16 bits) {
  asm volatile("st.shared.u16 [%0], %1;" ::"r"(to), "h"(bits) : "memory");
}
__device__ inline void store_shared_as(u32 to, u32 bits) {
  asm volatile("st.shared.u32 [%0], %1;" ::"r"(to), "r"(bits) : "memory");
}
__device__ inline void store_shared_as(u32 to, u64 bits) {
  asm volatile("st.shared.u64 [%0], %1;" ::"r"(to), "l"(bits) : "memory");
}

// A lane's elements of a tile: kCount of a column, a few rows apart.
template <typename P, u32 kCount>
struct TileShare {
  enum : u32 { N = kCount };

  const Memory<P>& memory;
  const Tiles& tiles;
  u32 row = 0;                 // of the first element, in the tile
  u32 step = 0;                // rows to the next one
  u32 rows = 0;                // of the tile; 0 for lanes that have no column
  u64 first[P::kAccesses];     // addresses; of a copy in shared memory
  u64 distance[P::kAccesses];  // to the next one

  static __device__ constexpr u32 elements() { return N; }

  template <typename T>
  __device__ T scalar(u32 index) const {
    return memory.template scalar<T>(index);
  }

  // All threads. Copies what lies along columns of tile `number`, and finds the
  // first elements.
  __device__ void begin(u32 number) {
    const u64 top = u64{number / tiles.along} << tiles.bits;
    const u64 left = u64{number % tiles.along} << tiles.bits;
    const u32 height = min(tiles.side(), u32(memory.sizes[0] - top));
    const u32 width = min(tiles.side(), u32(memory.sizes[1] - left));
    const u32 lane = read_lane();
    const u32 column = lane & (tiles.side() - 1);
    step = blockDim.x >> tiles.bits;
    row = lane >> tiles.bits;
    rows = column < width && row < step ? height : 0;
    __syncthreads();  // all are done with the tile before
    begin_accesses<0>(
        top, left, column, height, width,
        static_cast<u32>(__cvta_generic_to_shared(memory.dividers)) +
            kTileCopiesAt);
    __syncthreads();
  }
  __device__ bool is_done() const { return row >= rows; }
  __device__ void go_on() {
    row += N * step;
#pragma unroll
    for (u32 a = 0; a < P::kAccesses; ++a) first[a] += N * distance[a];
  }

  template <u32 A, typename S>
  __device__ void load(Vector<S, N>& to) const {
    if (tiles.turned >> A & 1)
      load_copied(to, static_cast<u32>(first[A]),
                  static_cast<u32>(distance[A]));
    else
      load_all(to, first[A], distance[A]);
  }
  template <u32 A, typename S>
  __device__ void store(const Vector<S, N>& from) const {
    u64 to = first[A];
#pragma unroll
    for (u32 p = 0; p < N; ++p, to += distance[A])
      if (row + p * step < rows) *reinterpret_cast<S*>(to) = from[p];
  }

 private:
  template <typename S>
  __device__ void load_copied(Vector<S, N>& to, u32 from, u32 far) const {
#pragma unroll
    for (u32 p = 0; p < N; ++p, from += far) {
      to[p] = S{};
      if (row + p * step < rows) to[p] = load_shared_as<S>(from);
    }
  }
  template <typename S>
  __device__ void load_all(Vector<S, N>& to, u64 from, u64 far) const {
    if (row + (N - 1) * step < rows) {
#pragma unroll
      for (u32 p = 0; p < N; ++p, from += far) to[p] = load_once<S>(from);
      return;
    }
#pragma unroll
    for (u32 p = 0; p < N; ++p, from += far) {
      to[p] = S{};
      if (row + p * step < rows) to[p] = load_once<S>(from);
    }
  }

  template <u32 A>
  __device__ void begin_accesses(u64 top, u64 left, u32 column, u32 height,
                                 u32 width, u32 copy) {
    if constexpr (A < P::kAccesses) {
      u64 down = static_cast<u64>(memory.strides_of(A)[0]);
      u64 along = static_cast<u64>(memory.strides_of(A)[1]);
      first[A] = memory.args[A] + top * down + left * along;
      if constexpr (P::kLoads >> A & 1) {
        if (tiles.turned >> A & 1) {
          copy_columns<P::bytes(A)>(copy, first[A], along, height, width);
          first[A] = copy;
          down = P::bytes(A) * (tiles.side() + 1);
          along = P::bytes(A);
          copy += tiles.slot;
        }
      }
      first[A] += row * down + column * along;
      distance[A] = step * down;
      begin_accesses<A + 1>(top, left, column, height, width, copy);
    }
  }

  // One element more in each row of the copy than there are, so that
  // neighbours in a column lie in different banks.
  template <u32 kBytes>
  __device__ void copy_columns(u32 to, u64 from, u64 along, u32 height,
                               u32 width) const {
    using S = typename Bits<kBytes>::type;
    constexpr u32 kTrip = 16;  // that are on the way together
    const u32 i = read_lane() & (tiles.side() - 1);
    if (row >= step || i >= height) return;
    to += (i * (tiles.side() + 1) + row) * kBytes;
    from += i * kBytes + row * along;
    const u64 far = step * along;
    u32 j = row;
#pragma unroll 1
    for (; j + (kTrip - 1) * step < width; j += kTrip * step) {
      S trip[kTrip];
#pragma unroll
      for (u32 k = 0; k < kTrip; ++k, from += far) trip[k] = load_once<S>(from);
#pragma unroll
      for (u32 k = 0; k < kTrip; ++k, to += step * kBytes)
        store_shared_as(to, trip[k]);
    }
#pragma unroll 1
    for (; j < width; j += step, from += far, to += step * kBytes)
      store_shared_as(to, load_once<S>(from));
  }
};

}  // namespace program
}  // namespace gpuos
