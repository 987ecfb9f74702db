// Chains: tasks that one worker runs one after the other.
#pragma once

#include "memory.h"
#include "operator.h"
#include "quick.h"

namespace gpuos {

// In the shared memory of a worker. What lies behind the last member is read
// and not used; its Quick is that of none.
struct Chain {
  abi::Member members[abi::kChainRecords + 1];
  // Where a member begins:
  OpFn functions[abi::kChainRecords];
  Quick quick[abi::kChainRecords + 1];
};

// Neither function is inlined: ordinary tasks would pay for their registers.

// Of the block that begins with record `first`.
__device__ inline u32 records_of(const abi::Payload& payload, u32 first) {
  const u32 left = payload.count - first;
  return left < abi::kChainRecords ? left : u32{abi::kChainRecords};
}

// Warp 0 fetches the members of a block, which is what fits, and their
// operators, all in a few trips.
static __device__ __noinline__ void load_chain(Chain& chain,
                                               const abi::Payload& payload,
                                               u32 first_record,
                                               const OpFn* table) {
  constexpr u32 kTrip = 8;  // chunks of a lane that are on the way together
  const u32 records = records_of(payload, first_record);
  const u32 chunks = records * (sizeof(abi::Member) / sizeof(Chunk));
  const char* from =
      reinterpret_cast<const char*>(payload.args[abi::kChainBlock]) +
      first_record * sizeof(abi::Member);
  Chunk* to = reinterpret_cast<Chunk*>(chain.members);
  for (u32 first = threadIdx.x; first < chunks; first += 32 * kTrip) {
    Chunk trip[kTrip];
#pragma unroll
    for (u32 k = 0; k < kTrip; ++k) {
      const u32 i = first + 32 * k;
      if (i < chunks) trip[k] = load_chunk(from + sizeof(Chunk) * i);
    }
#pragma unroll
    for (u32 k = 0; k < kTrip; ++k) {
      const u32 i = first + 32 * k;
      if (i < chunks) to[i] = trip[k];
    }
  }
  __syncwarp();
  // Where arguments go on there is no slot; what is read there is not used, and
  // must only lie in the table.
  for (u32 i = threadIdx.x; i < records; i += 32) {
    const abi::Member& member = chain.members[i];
    chain.functions[i] = table[member.op & (abi::kSlots - 1)];
    chain.quick[i] = quick_of(member);
  }
  if (threadIdx.x == 0) chain.quick[records] = {};
}

// What one pack of each lane leaves of a quick member.
template <typename T, typename F>
__device__ inline void run_rest(u64 out, u64 a, u64 b, u32 lane, u32 packs,
                                F f) {
#pragma unroll 1
  for (u32 i = lane + blockDim.x; i < packs; i += blockDim.x) {
    const u64 offset = u64{i} * sizeof(Chunk);
    Chunk x, y;
    load_pack_if(true, a + offset, x);
    load_pack_if(true, b + offset, y);
    store_pack_if(true, out + offset, combine<T>(x, y, f));
  }
}

// Runs the members from `at` on that are quick and compute the same, and
// returns the record behind the last one. What a lane stored last it keeps: the
// next member often reads it, and the way back from the L1 is the longest part
// of a small member.
template <typename T, typename F>
__device__ inline u32 run_alike(const Chain& chain, u32 at, u32 lane, F f) {
  const u64 offset = u64{lane} * sizeof(Chunk);
  const abi::Member* member = &chain.members[at];
  u64 out = member->args[0], a = member->args[1], b = member->args[2];
  const u32 what = chain.quick[at].what;
  u32 packs = chain.quick[at].packs;
  Chunk x{}, y{};
  u64 kept = 0;  // where `x` is stored too
  for (;;) {
    const bool is_mine = lane < packs;
    load_pack_if(is_mine && a + offset != kept, a + offset, x);
    load_pack_if(is_mine, b + offset, y);
    // Of the next member, while these are on their way.
    member = &chain.members[++at];
    const u64 next_out = member->args[0];
    const u64 next_a = member->args[1];
    const u64 next_b = member->args[2];
    const Quick next = chain.quick[at];
    x = combine<T>(x, y, f);
    kept = is_mine ? out + offset : 0;
    store_pack_if(is_mine, out + offset, x);
    if (packs > blockDim.x) run_rest<T>(out, a, b, lane, packs, f);
    if (next.what != what) return at;
    out = next_out;
    a = next_a;
    b = next_b;
    packs = next.packs;
    __syncthreads();
  }
}

template <typename F>
__device__ inline u32 run_alike_as(u32 dtype, const Chain& chain, u32 at,
                                   u32 lane, F f) {
  if (dtype == 0) return run_alike<float>(chain, at, lane, f);
  if (dtype == 1) return run_alike<double>(chain, at, lane, f);
  if (dtype == 2) return run_alike<int>(chain, at, lane, f);
  return run_alike<long long>(chain, at, lane, f);
}

// Not generic lambdas, which NVRTC 13.0 takes for host functions.
struct Adds {
  template <typename T>
  __device__ T operator()(T x, T y) const {
    return add(x, y);
  }
};
struct Subtracts {
  template <typename T>
  __device__ T operator()(T x, T y) const {
    return sub(x, y);
  }
};
struct Multiplies {
  template <typename T>
  __device__ T operator()(T x, T y) const {
    return mul(x, y);
  }
};

__device__ inline u32 run_quick(const Chain& chain, u32 at, u32 lane) {
  const u32 slot = chain.quick[at].what - 1;
  const u32 dtype = slot % 4;
  if (slot < 4) return run_alike_as(dtype, chain, at, lane, Adds{});
  if (slot < 8) return run_alike_as(dtype, chain, at, lane, Subtracts{});
  return run_alike_as(dtype, chain, at, lane, Multiplies{});
}

// All threads of the worker. A member reads what an earlier one wrote through
// the same L1, so a barrier is all that stands between them.
// `lane`: threadIdx.x, which would be read anew for each member.
static __device__ __noinline__ void run_chain(const Chain& chain, u32 records,
                                              u32 lane) {
  for (u32 i = 0; i < records;) {
    if (i != 0) __syncthreads();
    if (chain.quick[i].what != 0) {
      i = run_quick(chain, i, lane);
      continue;
    }
    const abi::Member& member = chain.members[i];
    if (member.op == abi::kGap) return;
    const u32 next = i + abi::chain_records(member.arg_count);
    chain.functions[i](Task{member.args, worker_scratch, member.count},
                       Lane::of(0, 1));
    i = next;
  }
}

// All threads of the worker; the first block is loaded.
__device__ inline void run_blocks(Chain& chain, const abi::Payload& payload,
                                  const OpFn* table) {
  run_chain(chain, records_of(payload, 0), threadIdx.x);
  for (u32 first = abi::kChainRecords; first < payload.count;
       first += abi::kChainRecords) {
    __syncthreads();
    if (threadIdx.x < 32) load_chain(chain, payload, first, table);
    __syncthreads();
    run_chain(chain, records_of(payload, first), threadIdx.x);
  }
}

}  // namespace gpuos
