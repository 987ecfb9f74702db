// Chains: tasks that one worker runs one after the other.
#pragma once

#include "inlined_members.h"
#include "memory.h"
#include "operator.h"

namespace gpuos {

// Holds records of a chain in the shared memory of a worker. The record after
// the last one is read but not used. Its InlinedMember is that of no member.
struct Piece {
  abi::Member members[abi::kChainPiece + 1];
  // Where a member begins:
  OpFn functions[abi::kChainPiece];
  InlinedMember inlined[abi::kChainPiece + 1];
};
// One piece is loaded while the other one runs.
struct Chain {
  Piece pieces[2];
};

// Thread 0 stores the current member of a chain with whole operators here:
// started_word() with the record 0, and its place.
struct Progress {
  u64* at;
  u64 word;
};

// Returns the number of records in the piece that begins with record `first`.
__device__ inline u32 records_of(const abi::Payload& payload, u32 first) {
  const u32 left = payload.count - first;
  return left < abi::kChainPiece ? left : u32{abi::kChainPiece};
}

// Warp 0 starts loading a piece, if there is one.
__device__ inline void fetch_piece(Piece& piece, const abi::Payload& payload,
                                   u32 first) {
  if (first >= payload.count) return;
  const u32 chunks =
      records_of(payload, first) * (sizeof(abi::Member) / sizeof(Chunk));
  const Chunk* from = reinterpret_cast<const Chunk*>(
      payload.args[abi::kChainBlock] + u64{first} * sizeof(abi::Member));
  Chunk* to = reinterpret_cast<Chunk*>(piece.members);
#pragma unroll 4
  for (u32 i = threadIdx.x; i < chunks; i += 32) copy_chunk(to + i, from + i);
}

// Warp 0 loads the first piece and starts loading the second. Not inlined,
// because ordinary tasks would pay for its registers.
static __device__ __noinline__ void load_chain(Chain& chain,
                                               const abi::Payload& payload) {
  fetch_piece(chain.pieces[0], payload, 0);
  commit_copies();
  fetch_piece(chain.pieces[1], payload, abi::kChainPiece);
  commit_copies();
  await_copies<1>();
}

// All threads prepare a piece that has arrived, a few in each warp, because
// records share memory banks. Records that only continue the arguments of a
// member hold no function. Their `op` is not used, but it must be an index into
// the table.
__device__ inline void prepare_piece(Piece& piece, u32 records,
                                     const OpFn* table, u32 lane) {
  constexpr u32 kApart = 4;
  if (lane == 0) piece.inlined[records] = {};
  if (lane % kApart != 0) return;
  for (u32 i = lane / kApart; i < records; i += blockDim.x / kApart) {
    const abi::Member& member = piece.members[i];
    Link link = link_of(member);
    if (link.inlined.what == 0)
      piece.functions[i] = table[member.op & (abi::kSlots - 1)];
    else if (i != 0)
      compare(link_of(piece.members[i - 1]), link);
    piece.inlined[i] = link.inlined;
  }
}

// Runs the packs of an inlined member after the first one of each lane.
template <typename T>
__device__ inline void run_other_packs(const Link& link, u32 lane) {
  const u32 op = link.inlined.what >> kOpAt & 3;
#pragma unroll 1
  for (u32 i = lane + blockDim.x; i < link.inlined.packs; i += blockDim.x) {
    const u64 offset = u64{i} * sizeof(Chunk);
    Chunk x, y;
    load_pack_if(true, link.a + offset, x);
    load_pack_if(true, link.b + offset, y);
    store_pack_if(true, link.out + offset, combine<T>(x, y, op));
  }
}

__device__ inline Link link_at(const Piece& piece, u32 at) {
  const abi::Member& member = piece.members[at];
  return {piece.inlined[at], member.args[0], member.args[1], member.args[2]};
}

// Runs the members from `at` on that follow with the same operation. `link` is
// the first of them, and becomes the one after them. The other operand of each
// member is loaded into `y` before the result of the previous member is stored.
template <typename T, bool kHasRest, typename F>
__device__ inline u32 run_same(const Piece& piece, u32 at, u32 lane, Link& link,
                               Chunk& x, Chunk& y, F f) {
  const u64 offset = u64{lane} * sizeof(Chunk);
  const bool is_mine = lane < link.inlined.packs;
  const u32 as = link.inlined.what & kFollowsAs;
  for (bool goes_on = true; goes_on;) {
    const Link next = link_at(piece, ++at);
    x = combine<T>(x, y, f);
    load_pack_if(is_mine && (next.inlined.what & kFollows) != 0,
                 next.inlined.other + offset, y);
    store_pack_if(is_mine, link.out + offset, x);
    if (kHasRest) run_other_packs<T>(link, lane);
    goes_on = (next.inlined.what & kFollowsAs) == as;
    link = next;
  }
  return at;
}
// Runs all members that follow, by any operation, without a barrier between
// them.
template <typename T, bool kHasRest>
__device__ inline u32 run_followers(const Piece& piece, u32 at, u32 lane,
                                    Link& link, Chunk& x) {
  Chunk y{};
  load_pack_if(lane < link.inlined.packs,
               link.inlined.other + u64{lane} * sizeof(Chunk), y);
  while ((link.inlined.what & kFollows) != 0) {
    const u32 op = link.inlined.what >> kOpOnKeptAt & 3;
    if (op == kAdd)
      at = run_same<T, kHasRest>(piece, at, lane, link, x, y, Adds{});
    else if (op == kMul)
      at = run_same<T, kHasRest>(piece, at, lane, link, x, y, Multiplies{});
    else if (op == kSub)
      at = run_same<T, kHasRest>(piece, at, lane, link, x, y, Subtracts{});
    else
      at = run_same<T, kHasRest>(piece, at, lane, link, x, y, SubtractsFrom{});
  }
  return at;
}

// Runs `link`, the member at `at`, except its other packs. Also runs the
// members after it that repeat it. Returns the record after them. `x` holds
// what each lane has just computed. It is the operand `a` of the first member
// if that is kept.
template <typename T, typename F>
__device__ inline u32 run_repeats(const Piece& piece, u32 at, u32 lane,
                                  Link link, Chunk& x, bool is_kept, F f) {
  const u64 offset = u64{lane} * sizeof(Chunk);
  Chunk y{};
  for (;;) {
    const bool is_mine = lane < link.inlined.packs;
    load_pack_if(is_mine && !is_kept, link.a + offset, x);
    load_pack_if(is_mine, link.b + offset, y);
    const Link next = link_at(piece, ++at);  // while these are on their way
    x = combine<T>(x, y, f);
    store_pack_if(is_mine, link.out + offset, x);
    if ((next.inlined.what & kRepeats) == 0) return at;
    is_kept = (next.inlined.what & kAIsKept) != 0;
    link = next;
    __syncthreads();
  }
}

// Runs the members from `at` on that are inlined and have one dtype. Returns
// the record after the last one. A lane keeps what it stored last, because the
// next member often reads it. Reading it back from the L1 takes the longest
// part of a small member.
template <typename T>
__device__ inline u32 run_inlined(const Piece& piece, u32 at, u32 lane) {
  Link link = link_at(piece, at);
  const u32 type = link.inlined.what & kType;
  bool is_kept = false;
  Chunk x{};
  for (;;) {
    const u32 op = link.inlined.what >> kOpAt & 3;
    const bool has_rest = link.inlined.packs > blockDim.x;
    if (has_rest) run_other_packs<T>(link, lane);
    if (op == kAdd)
      at = run_repeats<T>(piece, at, lane, link, x, is_kept, Adds{});
    else if (op == kSub)
      at = run_repeats<T>(piece, at, lane, link, x, is_kept, Subtracts{});
    else
      at = run_repeats<T>(piece, at, lane, link, x, is_kept, Multiplies{});
    link = link_at(piece, at);
    if ((link.inlined.what & kFollows) != 0)
      at = has_rest ? run_followers<T, true>(piece, at, lane, link, x)
                    : run_followers<T, false>(piece, at, lane, link, x);
    if ((link.inlined.what & kType) != type) return at;
    is_kept = (link.inlined.what & kAIsKept) != 0;
    __syncthreads();
  }
}

__device__ inline u32 run_inlined(const Piece& piece, u32 at, u32 lane) {
  const u32 type = piece.inlined[at].what & kType;
  if (type == 1) return run_inlined<float>(piece, at, lane);
  if (type == 2) return run_inlined<double>(piece, at, lane);
  if (type == 3) return run_inlined<int>(piece, at, lane);
  return run_inlined<long long>(piece, at, lane);
}

// All threads. Returns the piece of the record at `at`.
__device__ inline Piece& piece_of(Chain& chain, u32 at) {
  return chain.pieces[at / abi::kChainPiece % 2];
}
__device__ inline bool must_call(const Piece& piece, u32 i) {
  return piece.inlined[i].what == 0 && piece.members[i].op != abi::kGap;
}

// For all threads. Runs the members from `at` on until one must be called. All
// members before `at` are done. Returns the record of that member, or the end
// of the chain. Operators are not called from here, because this function's
// stack would add to theirs. `lane` is threadIdx.x, which would be read again
// for each member.
static __device__ __noinline__ u32 run_links(Chain& chain,
                                             const abi::Payload& payload,
                                             const OpFn* table, u32 at,
                                             u32 lane) {
  while (at < payload.count) {
    Piece& piece = piece_of(chain, at);
    const u32 first = at - at % abi::kChainPiece;
    const u32 records = records_of(payload, first);
    if (at == first) {
      if (at != 0) {
        if (lane < 32) await_copies<0>();
        // This piece has arrived, and no thread still reads the previous one.
        __syncthreads();
        if (lane < 32) {
          fetch_piece(piece_of(chain, at + abi::kChainPiece), payload,
                      at + abi::kChainPiece);
          commit_copies();
        }
      }
      prepare_piece(piece, records, table, lane);
      __syncthreads();
    }
    u32 i = at - first;
    while (i < records && piece.inlined[i].what != 0) {
      i = run_inlined(piece, i, lane);
      __syncthreads();
    }
    if (i < records && must_call(piece, i)) return first + i;
    at = first + abi::kChainPiece;
  }
  return payload.count;
}

// All threads of the worker, after load_chain(). A member reads what an earlier
// one wrote through the same L1, so a barrier between them is enough.
__device__ inline void run_blocks(Chain& chain, const abi::Payload& payload,
                                  const Progress& progress, const OpFn* table) {
  for (u32 at = 0;;) {
    at = run_links(chain, payload, table, at, threadIdx.x);
    if (at >= payload.count) return;
    const Piece& piece = piece_of(chain, at);
    do {
      const u32 i = at % abi::kChainPiece;
      const abi::Member& member = piece.members[i];
      if (threadIdx.x == 0 && (payload.flags & abi::kTraced))
        store_relaxed_sys(progress.at, progress.word | at);
      piece.functions[i](Task{member.args, worker_scratch, member.count},
                         Lane::of(0, 1));
      at += abi::chain_records(member.arg_count);
      __syncthreads();
    } while (at < payload.count && at % abi::kChainPiece != 0 &&
             must_call(piece, at % abi::kChainPiece));
  }
}

}  // namespace gpuos
