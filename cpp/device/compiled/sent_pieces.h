// Loads pieces of a row before the code that uses them is fetched. That fetch
// takes 2 us while other workers read (docs/lab/sums.md).
#pragma once

#include "compiled/stream.h"
#include "memory.h"

namespace gpuos {
namespace program {

// Describes where the pieces are in the worker's scratch, after what joins keep
// there. It holds some rounds of what one turn of the loop takes.
template <typename P>
struct SentPieces {
  enum : u32 {
    kBegin = 1024,  // words
    kPieces = P::kElements / P::kWidth,
    kLanes = 256,  // of a worker, at most
    kMost = (abi::kScratchBytes - 4 * kBegin) / (sizeof(Chunk) * kLanes)
  };

  // Counts the accesses whose bits are set.
  static __device__ constexpr u32 number_of(u32 accesses) {
    u32 number = 0;
    for (u32 a = 0; a < P::kAccesses; ++a) number += accesses >> a & 1;
    return number;
  }
  static __device__ constexpr bool are_chunks() {
    for (u32 a = 0; a < P::kAccesses; ++a)
      if ((P::kLoads >> a & 1) != 0 && P::bytes(a) * P::kWidth != sizeof(Chunk))
        return false;
    return P::kLoads != 0;
  }
  static __device__ constexpr u32 count_rounds() {
    if (!are_chunks()) return 0;
    const u32 fit = kMost / (kPieces * number_of(P::kLoads));
    // The rounds of each lane of a slice.
    const u32 most = kSliceColumns / P::kElements;
    return fit < most ? fit : most;
  }
  enum : u32 {
    kRounds = count_rounds(),
    kColumns = kRounds * P::kElements  // of a lane
  };

  Chunk* chunks;  // the lane's first one

  __device__ explicit SentPieces(const Task& task)
      : chunks(reinterpret_cast<Chunk*>(
                   static_cast<u32*>(const_cast<void*>(task.state)) + kBegin) +
               threadIdx.x) {}

  template <u32 A>
  __device__ Chunk* place(u32 round, u32 piece) const {
    constexpr u32 kEach = number_of(P::kLoads);
    constexpr u32 kBefore = number_of(P::kLoads & ((1u << A) - 1));
    return chunks + ((round * kEach + kBefore) * kPieces + piece) * blockDim.x;
  }
};

// The pieces of a pass, as many as one turn of its loop takes.
template <typename P>
using PiecesOf = StreamedPieces<P, P::kWidth, SentPieces<P>::kPieces>;

// Starts copies of the pieces of a round, in place of loads.
template <typename P>
struct Sending {
  const PiecesOf<P>& first;
  SentPieces<P> sent;
  u32 round;

  template <u32 A, typename S, u32 N>
  __device__ void load(Vector<S, N>&) const {
    constexpr u32 kPieces = SentPieces<P>::kPieces;
#pragma unroll
    for (u32 p = 0; p < kPieces; ++p)
      copy_chunk(
          sent.template place<A>(round, p),
          reinterpret_cast<const Chunk*>(first.place(A, round * kPieces + p)));
  }
};
template <typename P>
__device__ __forceinline__ void send_pieces(const Task& task,
                                            const PiecesOf<P>& first) {
  Sending<P> sending{first, SentPieces<P>(task), 0};
#pragma unroll
  for (u32 round = 0; round < SentPieces<P>::kRounds; ++round) {
    sending.round = round;
    typename P::template Columns<P::kElements> none;
    P::load(Part<1>{}, none, sending);
    commit_copies();
  }
}

// A round that has arrived.
template <typename P>
struct Sent : PiecesOf<P> {
  SentPieces<P> sent;
  u32 round;

  template <u32 A, typename S, u32 N>
  __device__ void load(Vector<S, N>& to) const {
#pragma unroll
    for (u32 p = 0; p < this->kPieces; ++p) {
      const auto piece =
          bit_cast<Vector<S, P::kWidth>>(*sent.template place<A>(round, p));
#pragma unroll
      for (u32 w = 0; w < P::kWidth; ++w) to[p * P::kWidth + w] = piece[w];
    }
  }
};
// Takes the pieces. `stream` continues after them.
template <typename P>
__device__ __forceinline__ void take_pieces(const Task& task,
                                            typename P::template Row<1>& row,
                                            PiecesOf<P>& stream) {
  constexpr u32 kRounds = SentPieces<P>::kRounds;
#pragma unroll 1
  for (u32 round = 0; round < kRounds; ++round, stream.go_on()) {
    // Only this lane reads its copies, so no barrier is needed.
    if (round == 0)
      await_copies<kRounds - 1>();
    else
      await_copies<0>();
    const Sent<P> there{stream, SentPieces<P>(task), round};
    typename P::template Columns<P::kElements> x;
    P::load(Part<1>{}, x, there);
    P::loop(Part<1>{}, row, x, there);
  }
}

}  // namespace program
}  // namespace gpuos
