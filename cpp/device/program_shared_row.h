// One long row that lies side by side and that all workers of a task share,
// each lane with pieces as far apart as there are lanes: the sum of an array.
// The first pieces are on their way before the loop's code is fetched, which
// takes 2 us beside what other workers read. And next to no registers are
// saved: each one that a function saves for its caller is 540 KB for all lanes,
// which go through memory twice, and takes 0.2 to 0.5 us.
#pragma once

#include "program_streamed_rows.h"

namespace gpuos {
namespace program {

// Where pieces that a lane sends for lie in the worker's scratch, behind what
// joins keep there: some rounds of what a turn of the loop takes.
template <typename P>
struct SentPieces {
  enum : u32 {
    kBegin = 1024,  // words
    kPieces = P::kElements / P::kWidth,
    kLanes = 256,  // of a worker, at most
    kMost = (abi::kScratchBytes - 4 * kBegin) / (sizeof(Chunk) * kLanes)
  };

  // Of some accesses.
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
    // Each lane has so many columns.
    const u32 most = kSliceColumns / P::kElements;
    return fit < most ? fit : most;
  }
  enum : u32 { kRounds = count_rounds() };

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

// Instead of loading the pieces of a round, sends for them.
template <typename P>
struct Sending {
  SentPieces<P> sent;
  u32 round;
  u64 step;  // from piece to piece, in elements
  u64 places[P::kAccesses];

  template <u32 A, typename S, u32 N>
  __device__ void load(Vector<S, N>&) const {
    constexpr u32 kPieces = SentPieces<P>::kPieces;
#pragma unroll
    for (u32 p = 0; p < kPieces; ++p)
      copy_chunk(sent.template place<A>(round, p),
                 reinterpret_cast<const Chunk*>(
                     places[A] + (round * kPieces + p) * step * sizeof(S)));
  }
};

// A round that is there.
template <typename P>
struct Sent : Stream<P, P::kWidth, SentPieces<P>::kPieces> {
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

template <typename P>
class SharedRow {
 public:
  using Told = Arguments<P::kAccesses, P::kScalars>;
  using Row = typename P::template Row<1>;

  // All threads find the same, with little code.
  static __device__ __forceinline__ bool is_for(const Task& task) {
    const u64* at = task.args + 1 + P::kAccesses + P::kScalars;
    if ((bit_cast<TaskShape>(at[0]).flags & kOneRow) == 0) return false;
    u64 odd = (at[2] >> 32) ^ blockDim.x;  // lanes of the row
#pragma unroll
    for (u32 a = 0; a < P::kAccesses; ++a)
      if (P::kColumns >> a & 1)
        odd |= task.args[1 + a] % (P::bytes(a) * P::kWidth);
    return odd == 0;
  }

  // Sends for the lane's first pieces.
  static __device__ __forceinline__ void send(const Task& task,
                                              const Lane& lane) {
    if constexpr (kRounds != 0) {
      Sending<P> sending{SentPieces<P>(task), 0, step_of(lane), {}};
      find_first(task, lane, sending.places);
#pragma unroll
      for (u32 round = 0; round < kRounds; ++round) {
        sending.round = round;
        typename P::template Columns<P::kElements> none;
        P::load(Part<1>{}, none, sending);
        commit_copies();
      }
    }
  }

  __device__ SharedRow(const Task& task, const Lane& lane)
      : task_(task), lane_(lane), x_{Told(task)} {
    x_.column = threadIdx.x * P::kWidth;
#pragma unroll
    for (u32 a = 0; a < P::kAccesses; ++a) x_.starts[a] = task.args[1 + a];
  }

  // The two halves: what the lanes gather,
  __device__ __forceinline__ Row stream() const {
    Row row;
    P::row(Part<0>{}, row, x_);
    P::each_gathered(Part<1>{}, row, Begin{});
    constexpr u32 kFirst = first_of(P::kLoads);
    const u64 end =
        task_.args[1 + kFirst] + x_.task.rows.columns * P::bytes(kFirst);
    const u64 step = step_of(lane_);
    Many many{x_.task, u64{lane_.index()} * P::kWidth, step, {}};
    find_first(task_, lane_, many.places);
    if constexpr (kRounds != 0) {
      const SentPieces<P> sent(task_);
#pragma unroll 1
      for (u32 round = 0; round < kRounds; ++round, many.go_on()) {
        // The lane's own copies, which nobody else reads: without a barrier.
        if (round == 0)
          await_copies<kRounds - 1>();
        else
          await_copies<0>();
        const Sent<P> there{many, sent, round};
        typename P::template Columns<P::kElements> x;
        P::load(Part<1>{}, x, there);
        P::loop(Part<1>{}, row, x, there);
      }
    }
    read(row, many, end);
    Stream<P, P::kWidth, 1> one{x_.task, many.column, step, {}};
#pragma unroll
    for (u32 a = 0; a < P::kAccesses; ++a) one.places[a] = many.places[a];
    read(row, one, end);
    return row;
  }

  // and what becomes of it.
  __device__ __forceinline__ void finish(Row& row) const {
    WarpJoin join(task_, blockDim.x);
    P::each_gathered(Part<1>{}, row, join);
    if (!take_slices<P>(row, x_.task.rows,
                        {0, 0, lane_.tile(), threadIdx.x, true}))
      return;
    P::each_gathered(Part<1>{}, row, join);
    P::row(Part<2>{}, row, x_);
  }

 private:
  enum : u32 { kRounds = SentPieces<P>::kRounds };
  using Many = Stream<P, P::kWidth, SentPieces<P>::kPieces>;

  static __device__ constexpr u32 first_of(u32 accesses) {
    u32 first = 0;
    while ((accesses >> first & 1) == 0) ++first;
    return first;
  }
  // All pieces up to where the first access ends: one address less to keep
  // than with the column's number, so that all loads of a turn have registers.
  template <typename M>
  static __device__ __forceinline__ void read(Row& row, M& stream, u64 end) {
    constexpr u32 kFirst = first_of(P::kLoads);
    const u64 before_last = (M::kPieces - 1) * stream.step * P::bytes(kFirst);
#pragma unroll 1
    for (; stream.places[kFirst] + before_last < end; stream.go_on()) {
      typename P::template Columns<M::N> x;
      P::load(Part<1>{}, x, stream);
      P::loop(Part<1>{}, row, x, stream);
    }
  }

  static __device__ u64 step_of(const Lane& lane) {
    return u64{lane.count()} * P::kWidth;
  }
  static __device__ void find_first(const Task& task, const Lane& lane,
                                    u64 (&places)[P::kAccesses]) {
#pragma unroll
    for (u32 a = 0; a < P::kAccesses; ++a)
      places[a] =
          task.args[1 + a] + u64{lane.index()} * (P::kWidth * P::bytes(a));
  }

  const Task& task_;
  const Lane& lane_;
  KeptRow<P> x_;
};

// What all lanes need behind the loop lies in the scratch meanwhile, between
// what joins keep and pieces that were sent for: in the loop the registers that
// need not be saved are for loads.
struct PutAside {
  enum : u32 { kAt = 512 };  // words
  const u64* args;
  Lane lane;

  static __device__ PutAside* of(const void* state) {
    return reinterpret_cast<PutAside*>(
        static_cast<u32*>(const_cast<void*>(state)) + kAt);
  }
};
// Each call is the last thing that a function does.
template <typename P>
__device__ __noinline__ void finish_shared(const void* state,
                                           typename SharedRow<P>::Row row) {
  __syncthreads();
  const PutAside aside = *PutAside::of(state);
  const Task task{aside.args, state, 0};
  SharedRow<P>(task, aside.lane).finish(row);
}
template <typename P>
__device__ __noinline__ void run_shared(Task task, Lane lane) {
  if (threadIdx.x == 0) *PutAside::of(task.state) = {task.args, lane};
  finish_shared<P>(task.state, SharedRow<P>(task, lane).stream());
}

}  // namespace program
}  // namespace gpuos
