// Workers that come for the tasks of one launch.
#pragma once

#include "work.h"

namespace gpuos {

// For warp 0. Loads the descriptor of the burst's task at `position` from the
// ring.
__device__ inline Chunk load_burst_chunk(const abi::Launch& launch,
                                         u64 position) {
  Chunk chunk{};
  if (threadIdx.x < 4 && position < launch.end)
    chunk = load_chunk(
        reinterpret_cast<const char*>(launch.queue.descriptors +
                                      place_of(launch.queue, position)) +
        16 * threadIdx.x);
  return chunk;
}

// A burst may start while the previous launch of its stream still runs. It then
// reads its first descriptors and waits here, before everything else. An
// independent burst waits at its end, so that launches end in order. The last
// warp fences, because the fence waits for loads and the first warp has some.
__device__ inline void begin_burst(const abi::Launch& launch) {
  if (launch.is_independent == 0)
    await_previous_launch();
  else if (threadIdx.x + 32 >= blockDim.x)
    // Drops the lines that running launches left in the L1. The barrier before
    // the task makes this visible to the worker, as in await_task().
    fence_gpu();
  let_next_launch_begin();
}

// A captured launch has no places in the ring. While it runs, other launches
// may use the places of its positions.
__device__ inline bool has_places(const abi::Launch& launch) {
  return launch.signal != 0;
}

// For thread 0, after a barrier that follows the worker's last task. The batch
// is the whole launch, so this counts workers to find the last one.
__device__ inline void finish_burst(const abi::Launch& launch) {
  if (launch.is_independent != 0) await_previous_launch();
  if (!has_places(launch)) return;
  const abi::Queue& queue = launch.queue;
  const u32 place = place_of(queue, launch.begin);
  if (gridDim.x == 1) {
    fence_gpu();  // as in finish_task()
  } else {
    // Pairs with the same count of the last worker. That worker sees all writes
    // and leaves 0 for the next burst.
    const u32 last = gridDim.x - 1;
    if (count_in_turn(queue.counts + place, last) != last) return;
  }
  store_relaxed_sys(queue.done + place,
                    abi::lap_tag(launch.begin, queue.capacity_bits));
}

__device__ inline void run_ring_burst(const abi::Launch& launch, Work& work) {
  const bool is_first_warp = threadIdx.x < 32;
  const u64 first = launch.begin + blockIdx.x;
  Chunk chunk{};
  if (is_first_warp) chunk = load_burst_chunk(launch, first);
  for (u64 position = first; position < launch.end; position += gridDim.x) {
    if (is_first_warp) {
      if (threadIdx.x < 4) store_chunk(work, threadIdx.x, chunk);
      if (threadIdx.x == 0) load_operator(launch, work, chunk.words[0]);
      __syncwarp();
      load_arg_block(launch.queue, work, position);
      if (abi::is_chain(work.payload.flags))
        load_chain(work.chain, work.payload);
      // Arrives while the task runs.
      chunk = load_burst_chunk(launch, position + gridDim.x);
    }
    if (position == first) begin_burst(launch);
    if (threadIdx.x == 0) {
      set_turns(launch.queue, work.payload, position);
      mark_started(launch.queue, work, position);
    }
    __syncthreads();
    run_task(work, launch.table);
    __syncthreads();
  }
  if (threadIdx.x == 0) finish_burst(launch);
}

__device__ inline void run_inline_burst(const abi::InlineLaunch& launch,
                                        Work& work) {
  for (u32 i = blockIdx.x; i < launch.inline_count; i += gridDim.x) {
    if (threadIdx.x < 4) {
      const u32* words = launch.descriptors[i].words + 4 * threadIdx.x;
      const Chunk chunk{{words[0], words[1], words[2], 0}};
      if (threadIdx.x == 0) load_operator(launch, work, chunk.words[0]);
      store_chunk(work, threadIdx.x, chunk);
    }
    if (threadIdx.x < 32) {
      __syncwarp();
      if (threadIdx.x == 0)
        set_turns(launch.queue, work.payload, launch.begin + i,
                  has_places(launch));
      if (abi::is_chain(work.payload.flags))
        load_chain(work.chain, work.payload);
    }
    if (i == blockIdx.x) begin_burst(launch);
    __syncthreads();
    if (work.payload.flags & abi::kArgsInBlock) {
      // The arguments are stored after the tasks, at the index args[1].
      const u64* args = reinterpret_cast<const u64*>(
          launch.descriptors + static_cast<u32>(work.payload.args[1]));
      if (threadIdx.x < static_cast<u32>(work.payload.args[0]))
        work.args[threadIdx.x] = args[threadIdx.x];
      __syncthreads();
    }
    if (threadIdx.x == 0 && has_places(launch))
      mark_started(launch.queue, work, launch.begin + i);
    run_task(work, launch.table);
    __syncthreads();
  }
  if (threadIdx.x == 0) finish_burst(launch);
}

// Runs a task on the shortest path from a launch and back.
__device__ inline void run_row_burst(const abi::Launch& launch, Work& work) {
  // An independent burst does not wait. It fences before it loads.
  if (launch.is_independent != 0) begin_burst(launch);
  const abi::TiledTask& tiled = launch.tiled;
  // Each thread copies for itself while the arguments arrive.
  const OpFn operator_fn = launch.table[tiled.op];
  if (threadIdx.x < tiled.arg_count)
    work.args[threadIdx.x] = tiled.args[threadIdx.x];
  const Task task{work.args, worker_scratch, tiled.count};
  if (threadIdx.x == 0)
    set_turns(launch.queue, launch.begin,
              has_places(launch) && tiled.parts > 1);
  if (launch.is_independent == 0) begin_burst(launch);
  __syncthreads();
  for (u32 tile = blockIdx.x; tile < launch.inline_count; tile += gridDim.x) {
    if (threadIdx.x == 0 && tiled.is_traced != 0 && has_places(launch))
      mark_started(launch.queue, launch.begin + tile);
    operator_fn(task, Lane::of(tile, tiled.parts));
    __syncthreads();
  }
  if (threadIdx.x == 0) finish_burst(launch);
}

}  // namespace gpuos
