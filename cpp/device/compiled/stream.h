// Defines how a lane of the device goes through contiguous arrays.
#pragma once

#include "compiled/task_layout.h"

namespace gpuos {
namespace program {

// Loads elements that are read once, past the L1, since a worker's scratch
// takes most of it. `from` must be aligned.
template <u32 kWide, typename S>
__device__ inline Vector<S, kWide> load_streamed(const S* from) {
#if __CUDA_ARCH__ >= 800
  if constexpr (sizeof(Vector<S, kWide>) == 16) {
    uint4 words;
    // Volatile, because the compiler would put each load before its use.
    asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words.x), "=r"(words.y), "=r"(words.z), "=r"(words.w)
                 : "l"(from));
    return bit_cast<Vector<S, kWide>>(words);
  }
#endif
  return load_vector<kWide>(from);
}

// Gathers elements [at, at + kWide) of `from`, which are columns from `number`
// on.
template <u32 kWide, typename F, typename T, u32 N>
__device__ inline void gather_piece(Sums<F, 1>& gathered,
                                    const Vector<T, N>& from, u32 at,
                                    u64 number) {
#pragma unroll
  for (u32 w = 0; w < kWide; ++w)
    gathered.values[0] =
        F::both(gathered.values[0], F::of(from[at + w], number + w));
}

// The pieces of a lane that need no check. It has only the fields that the loop
// needs, so that registers are left for loads in flight.
template <typename P, u32 kWide, u32 kCount>
struct StreamedPieces {
  enum : u32 { N = kWide * kCount, kPieces = kCount };

  const TaskArguments<P::kAccesses, P::kScalars>& task;
  u64 column;                // the first one
  u32 step;                  // from piece to piece
  u64 places[P::kAccesses];  // addresses of the first piece

  static __device__ constexpr u32 elements() { return N; }

  template <typename T>
  __device__ T scalar(u32 index) const {
    return task.template scalar<T>(index);
  }

  __device__ u64 place(u32 access, u32 piece) const {
    return places[access] + u64{step} * (piece * P::bytes(access));
  }
  __device__ void go_on() {
    column += u64{step} * kPieces;
#pragma unroll
    for (u32 a = 0; a < P::kAccesses; ++a) places[a] = place(a, kPieces);
  }

  template <u32 A, typename S>
  __device__ void load(Vector<S, N>& to) const {
#pragma unroll
    for (u32 p = 0; p < kPieces; ++p) {
      const auto piece =
          load_streamed<kWide>(reinterpret_cast<const S*>(place(A, p)));
#pragma unroll
      for (u32 w = 0; w < kWide; ++w) to[p * kWide + w] = piece[w];
    }
  }
  template <u32 A, typename S>
  __device__ void store(const Vector<S, N>& from) const {
#pragma unroll
    for (u32 p = 0; p < kPieces; ++p) {
      Vector<S, kWide> piece;
#pragma unroll
      for (u32 w = 0; w < kWide; ++w) piece[w] = from[p * kWide + w];
      store_vector(reinterpret_cast<S*>(place(A, p)), piece);
    }
  }

  template <typename F, typename T>
  __device__ void gather(Sums<F, 1>& gathered, const Vector<T, N>& from) const {
#pragma unroll
    for (u32 p = 0; p < kPieces; ++p)
      gather_piece<kWide>(gathered, from, p * kWide, column + u64{step} * p);
  }
};

}  // namespace program
}  // namespace gpuos
