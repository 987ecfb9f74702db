// Chains: tasks that one worker runs one after the other.
#pragma once

#include "memory.h"
#include "operator.h"

namespace gpuos {

// In the shared memory of a worker.
struct Chain {
  abi::Member members[abi::kChainRecords];
  OpFn functions[abi::kChainRecords];  // where a member begins
};

// Neither function is inlined: ordinary tasks would pay for their registers.

// Warp 0 fetches the members and their operators, all in a few trips.
static __device__ __noinline__ void load_chain(Chain& chain,
                                               const abi::Payload& payload,
                                               const OpFn* table) {
  constexpr u32 kTrip = 8;  // chunks of a lane that are on the way together
  const u32 records = payload.count;
  const u32 chunks = records * (sizeof(abi::Member) / sizeof(Chunk));
  const char* from =
      reinterpret_cast<const char*>(payload.args[abi::kChainBlock]);
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
  for (u32 i = threadIdx.x; i < records; i += 32)
    chain.functions[i] = table[chain.members[i].op & (abi::kSlots - 1)];
}

// All threads of the worker. A member reads what an earlier one wrote through
// the same L1, so a barrier is all that stands between them.
static __device__ __noinline__ void run_chain(const Chain& chain, u32 records) {
  for (u32 i = 0; i < records;) {
    if (i != 0) __syncthreads();
    const abi::Member& member = chain.members[i];
    const u32 next = i + abi::chain_records(member.arg_count);
    chain.functions[i](Task{member.args, worker_scratch, member.count},
                       Lane::of(0, 1));
    i = next;
  }
}

}  // namespace gpuos
