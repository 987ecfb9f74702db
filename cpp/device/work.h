// Defines the state of a worker's task, and how the worker runs it.
#pragma once

#include "chain.h"
#include "launch.h"
#include "memory.h"

namespace gpuos {

// The shared memory of a worker.
struct Work {
  abi::Payload payload;
  u64 args[abi::kMaxArgs];
  OpFn operator_fn;
  u32 leave;
  Progress progress;  // of a traced task; thread 0
  Chain chain;
};

__device__ inline u32 place_of(const abi::Queue& queue, u64 position) {
  return static_cast<u32>(position) & (queue.capacity - 1);
}

// Lane k of warp 0 stores the three payload words of chunk k.
__device__ inline void store_chunk(Work& work, u32 lane, const Chunk& chunk) {
  u32* words = reinterpret_cast<u32*>(&work.payload) + 3 * lane;
  words[0] = chunk.words[0];
  words[1] = chunk.words[1];
  words[2] = chunk.words[2];
}

// Warp 0 loads the arguments that did not fit the descriptor.
__device__ inline void load_arg_block(const abi::Queue& queue, Work& work,
                                      u64 position) {
  if (!(work.payload.flags & abi::kArgsInBlock)) return;
  const u32 count = static_cast<u32>(work.payload.args[0]);
  const u64* args =
      queue.arg_blocks[place_of(queue, position - work.payload.args[1])].args;
  if (threadIdx.x < count && threadIdx.x < abi::kMaxArgs)
    work.args[threadIdx.x] = load_relaxed_sys(args + threadIdx.x);
}

// The lane that loads chunk 0 calls this as early as possible, because the
// table is in device memory.
__device__ inline void load_operator(const abi::Launch& launch, Work& work,
                                     u32 word) {
  work.operator_fn = launch.table[word & 0xffff];
}

// For thread 0, before the barrier ahead of a task. Sets where the workers that
// share the task count the turns that they take, or null. turns_of() reads it.
// The counter is at the place after that of the task's first tile, because the
// first tile's own place may count its batch. It is 0 before the first turn,
// and again after the last.
__device__ inline void set_turns(const abi::Queue& queue, u64 first,
                                 bool is_shared) {
  *reinterpret_cast<u32**>(worker_scratch + abi::kScratchBytes / sizeof(u32)) =
      is_shared ? queue.counts + place_of(queue, first + 1) : nullptr;
}
__device__ inline void set_turns(const abi::Queue& queue,
                                 const abi::Payload& payload, u64 position,
                                 bool has_places = true) {
  set_turns(queue, position - (payload.flags >> abi::kTileShift),
            has_places && payload.parts > 1 && !(payload.flags & abi::kJoin));
}

// All threads of the worker.
__device__ inline void run_task(Work& work, const OpFn* table) {
  const abi::Payload& payload = work.payload;
  if (payload.flags & abi::kJoin) {
    if (abi::is_chain(payload.flags))
      run_blocks(work.chain, payload, work.progress, table);
    return;
  }
  const Task task{payload.flags & abi::kArgsInBlock ? work.args : payload.args,
                  worker_scratch, payload.count};
  const u32 tiles = payload.parts == 0 ? 1 : payload.parts;
  work.operator_fn(task, Lane::of(payload.flags >> abi::kTileShift, tiles));
}

// Thread 0 stores this for the watchdog, for tasks of whole operators.
__device__ inline Progress mark_started(const abi::Queue& queue, u64 position) {
  const u32 tag = abi::lap_tag(position, queue.capacity_bits);
  const Progress progress{queue.started + place_of(queue, position),
                          abi::started_word(tag, 0)};
  store_relaxed_sys(progress.at, progress.word);
  return progress;
}
__device__ inline void mark_started(const abi::Queue& queue, Work& work,
                                    u64 position) {
  if (work.payload.flags & abi::kTraced)
    work.progress = mark_started(queue, position);
}

}  // namespace gpuos
