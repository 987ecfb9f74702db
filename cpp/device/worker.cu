// The worker kernel: one block is one worker. Built by nvcc ahead of time and
// by NVRTC at run time.
#include "chain.h"
#include "launch.h"
#include "memory.h"
#include "watch.h"

namespace gpuos {
namespace {

using abi::Launch;
using abi::Payload;
using abi::Queue;

constexpr u32 kAllLanes = 0xffffffffu;
// Lanes of warp 0 while it polls: 0 to 3 load the descriptor's chunks, in the
// same instruction kParkLane loads the park word and kTicketLane the ticket.
constexpr u32 kChunkLanes = 4;
// How many workers poll as fast as they can, and the others' pause.
constexpr u32 kNearTurns = 64;
constexpr u32 kFarPollNs = 500;

// Shared memory of a worker.
struct Work {
  Payload payload;
  u64 args[abi::kMaxArgs];
  OpFn operator_fn;
  u32 leave;
  Chain chain;
};

__device__ u32 place_of(const Queue& queue, u64 position) {
  return static_cast<u32>(position) & (queue.capacity - 1);
}

// Lane k of warp 0 puts chunk k's three payload words in place.
__device__ void store_chunk(Work& work, u32 lane, const Chunk& chunk) {
  u32* words = reinterpret_cast<u32*>(&work.payload) + 3 * lane;
  words[0] = chunk.words[0];
  words[1] = chunk.words[1];
  words[2] = chunk.words[2];
}

// Warp 0 fetches the arguments that did not fit the descriptor.
__device__ void load_arg_block(const Queue& queue, Work& work, u64 position) {
  if (!(work.payload.flags & abi::kArgsInBlock)) return;
  const u32 count = static_cast<u32>(work.payload.args[0]);
  const u64* args =
      queue.arg_blocks[place_of(queue, position - work.payload.args[1])].args;
  if (threadIdx.x < count && threadIdx.x < abi::kMaxArgs)
    work.args[threadIdx.x] = load_relaxed_sys(args + threadIdx.x);
}

// Called by the lane that loads chunk 0, as early as possible: the table lies
// in device memory.
__device__ void load_operator(const Launch& launch, Work& work, u32 word) {
  work.operator_fn = launch.table[word & 0xffff];
}

// All threads of the worker.
__device__ void run_task(Work& work, const OpFn* table) {
  const Payload& payload = work.payload;
  if (payload.flags & abi::kJoin) {
    if (abi::is_chain(payload.flags)) run_blocks(work.chain, payload, table);
    return;
  }
  const Task task{payload.flags & abi::kArgsInBlock ? work.args : payload.args,
                  worker_scratch, payload.count};
  const u32 tiles = payload.parts == 0 ? 1 : payload.parts;
  work.operator_fn(task, Lane::of(payload.flags >> abi::kTileShift, tiles));
}

// Thread 0: the watchdog looks at this for tasks of whole operators.
__device__ void mark_started(const Queue& queue, u64 position) {
  store_relaxed_sys(queue.started + place_of(queue, position),
                    abi::lap_tag(position, queue.capacity_bits));
}
__device__ void mark_started(const Queue& queue, const Work& work,
                             u64 position) {
  if (work.payload.flags & abi::kTraced) mark_started(queue, position);
}

// Thread 0, after a barrier that follows the task: tell the host and workers
// that wait when the last of the batch's `size` tasks is done.
__device__ void finish_task(const Queue& queue, u64 begin, u32 size) {
  const u32 place = place_of(queue, begin);
  // Releases what the block wrote; pairs with the same fence of the worker that
  // finds itself last, and with the acquire loads in Ring::is_done() and in
  // is_finished(). Outputs lie in device memory, which everybody reaches
  // through the L2, so the device's scope is enough; a fence of the system
  // would wait 1.3 us for the bus.
  fence_gpu();
  if (size > 1) {
    if (atomicAdd(queue.counts + place, 1) + 1 != size) return;
    // Nobody counts here again before the host has seen `done`.
    queue.counts[place] = 0;
    fence_gpu();
  }
  const u32 tag = abi::lap_tag(begin, queue.capacity_bits);
  // In this order: who sees `done` may give the place out again.
  store_relaxed(queue.flags + place, tag);
  store_relaxed_sys(queue.done + place, tag);
}

// Pairs with the store in finish_task(), together with a fence after it. An
// acquire load each time would empty the L1 of the worker beside this one.
__device__ bool is_finished(const Queue& queue, u64 begin) {
  const u32 flag = load_relaxed(queue.flags + place_of(queue, begin));
  return static_cast<int>(flag - abi::lap_tag(begin, queue.capacity_bits)) >= 0;
}

__device__ u64 claim(const Launch& launch) {
  return atomicAdd(&launch.state->ticket, 1ull);
}

// Warp 0: wait until the descriptor of `position` is there. False: leave.
// Lane 0 claims the position after it, unless the task may still be given back.
// `owes`: it was claimed by an earlier residency. Where not all workers fit at
// once, the last ones begin when the others leave, and must not leave with a
// task that nobody else will run.
__device__ bool await_task(const Launch& launch, Watch& watch, Work& work,
                           u64 position, u64& next, bool owes) {
  const Queue& queue = launch.queue;
  const u32 lane = threadIdx.x;
  const u32 tag = abi::lap_tag(position, queue.capacity_bits);
  const void* from = watch.word();
  if (lane < kChunkLanes)
    from = reinterpret_cast<const char*>(queue.descriptors +
                                         place_of(queue, position)) +
           16 * lane;
  for (;;) {
    Chunk chunk{};
    // The chunks pair with the 16-byte stores in Ring::write().
    if (from != nullptr) chunk = load_chunk(from);
    const u64 value = chunk.words[0] | u64{chunk.words[1]} << 32;
    const bool leave = watch.must_leave(value);
    const bool there =
        __all_sync(kAllLanes, lane >= kChunkLanes || chunk.words[3] == tag);
    if (__any_sync(kAllLanes, leave) && !(owes && there)) return false;
    if (!there) {
      // Positions are filled in order. A worker whose turn is far off polls
      // less often, so that the polls of the next ones find the bus free.
      const u64 ticket = __shfl_sync(kAllLanes, value, kTicketLane);
      if (position + gridDim.x >= ticket + kNearTurns) __nanosleep(kFarPollNs);
      continue;
    }
    if (lane < kChunkLanes) store_chunk(work, lane, chunk);
    if (lane == 0) {
      const u32 flags = chunk.words[0] >> 16;
      if (!(flags & (abi::kWaits | abi::kJoin))) next = claim(launch);
      load_operator(launch, work, chunk.words[0]);
    }
    // What the task reads may have been written by the host, a copy or another
    // kernel since this multiprocessor last cached it.
    fence_gpu();
    __syncwarp();
    return true;
  }
}

// Warp 0: wait for the batches that the task comes after. False: leave.
__device__ bool await_batches(const Launch& launch, Watch& watch, Work& work,
                              u64 position, u64& next) {
  const Payload& payload = work.payload;
  if (!(payload.flags & (abi::kWaits | abi::kJoin))) return true;
  // Arrives while the batches run.
  if (abi::is_chain(payload.flags))
    load_chain(work.chain, payload, 0, launch.table);
  const u32 lane = threadIdx.x;
  u32 distance = 0;
  if (payload.flags & abi::kJoin) {
    if (lane < payload.parts)
      distance = reinterpret_cast<const u16*>(payload.args)[lane];
  } else if (lane == 0) {
    distance = payload.wait_distance;
  }
  while (!__all_sync(kAllLanes, distance == 0)) {
    if (distance != 0 && is_finished(launch.queue, position - distance))
      distance = 0;
    if (__all_sync(kAllLanes, distance == 0)) break;
    u64 value = 0;
    if (watch.word() != nullptr) value = load_relaxed_sys(watch.word());
    if (__any_sync(kAllLanes, watch.must_leave(value))) return false;
  }
  fence_gpu();  // see is_finished()
  if (lane == 0) next = claim(launch);
  return true;
}

__device__ void stay(const Launch& launch, Work& work) {
  const bool is_first_warp = threadIdx.x < 32;
  Watch watch(launch);
  u64 position = 0;
  int owes = 0;
  if (threadIdx.x == 0) {
    const u64 saved = launch.claims[blockIdx.x];
    launch.claims[blockIdx.x] = 0;
    owes = saved != 0;
    position = owes ? saved - 1 : claim(launch);
  }
  if (is_first_warp) {
    position = __shfl_sync(kAllLanes, position, 0);
    owes = __shfl_sync(kAllLanes, owes, 0);
  }
  for (;;) {
    u64 next = 0;
    if (is_first_warp) {
      const bool stays =
          await_task(launch, watch, work, position, next, owes) &&
          await_batches(launch, watch, work, position, next);
      if (stays) {
        load_arg_block(launch.queue, work, position);
        if (threadIdx.x == 0) mark_started(launch.queue, work, position);
      }
      if (threadIdx.x == 0) work.leave = !stays;
    }
    __syncthreads();
    if (work.leave) break;
    owes = 0;
    const u32 batch_offset = work.payload.batch_offset;
    const u32 batch_size = work.payload.batch_size;
    run_task(work, launch.table);
    __syncthreads();
    if (threadIdx.x == 0)
      finish_task(launch.queue, position - batch_offset, batch_size);
    if (is_first_warp) position = __shfl_sync(kAllLanes, next, 0);
  }
  if (threadIdx.x != 0) return;
  launch.claims[blockIdx.x] = position + 1;
  // Pairs with the same fence of the worker that leaves last.
  fence_gpu();
  if (atomicAdd(&launch.state->left, 1ull) + 1 ==
      launch.residency * gridDim.x) {
    // Pairs with the acquire load in ResidentWorkers::has_left().
    fence_sys();
    store_relaxed_sys(launch.left, launch.residency);
  }
}

// Warp 0: the descriptor of the burst's task `index`, from the ring.
__device__ Chunk load_burst_chunk(const Launch& launch, u64 position) {
  Chunk chunk{};
  if (threadIdx.x < 4 && position < launch.end)
    chunk = load_chunk(
        reinterpret_cast<const char*>(launch.queue.descriptors +
                                      place_of(launch.queue, position)) +
        16 * threadIdx.x);
  return chunk;
}

// A burst may be launched while the one before it in its stream still runs: it
// then reads its first descriptors and waits here. Everything else comes after.
__device__ void begin_burst() {
  await_previous_launch();
  let_next_launch_begin();
}

// Thread 0, after a barrier that follows the worker's last task. Which worker
// is last is counted in workers: the batch is the whole launch.
__device__ void finish_burst(const Launch& launch) {
  if (launch.signal == 0) return;
  const Queue& queue = launch.queue;
  const u32 place = place_of(queue, launch.begin);
  if (gridDim.x == 1) {
    fence_gpu();  // as in finish_task()
  } else {
    // Pairs with the same count of the last worker, which so has what all
    // wrote, and leaves 0 for the next burst.
    const u32 last = gridDim.x - 1;
    if (count_in_turn(queue.counts + place, last) != last) return;
  }
  store_relaxed_sys(queue.done + place,
                    abi::lap_tag(launch.begin, queue.capacity_bits));
}

__device__ void run_ring_burst(const Launch& launch, Work& work) {
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
        load_chain(work.chain, work.payload, 0, launch.table);
      // Arrives while the task runs.
      chunk = load_burst_chunk(launch, position + gridDim.x);
    }
    if (position == first) begin_burst();
    if (threadIdx.x == 0) mark_started(launch.queue, work, position);
    __syncthreads();
    run_task(work, launch.table);
    __syncthreads();
  }
  if (threadIdx.x == 0) finish_burst(launch);
}

__device__ void run_inline_burst(const abi::InlineLaunch& launch, Work& work) {
  for (u32 i = blockIdx.x; i < launch.inline_count; i += gridDim.x) {
    if (threadIdx.x < 4) {
      const u32* words = launch.descriptors[i].words + 4 * threadIdx.x;
      const Chunk chunk{{words[0], words[1], words[2], 0}};
      if (threadIdx.x == 0) load_operator(launch, work, chunk.words[0]);
      store_chunk(work, threadIdx.x, chunk);
    }
    if (threadIdx.x < 32) {
      __syncwarp();
      if (abi::is_chain(work.payload.flags))
        load_chain(work.chain, work.payload, 0, launch.table);
    }
    if (i == blockIdx.x) begin_burst();
    __syncthreads();
    if (work.payload.flags & abi::kArgsInBlock) {
      // They lie behind the tasks; args[1] says where.
      const u64* args = reinterpret_cast<const u64*>(
          launch.descriptors + static_cast<u32>(work.payload.args[1]));
      if (threadIdx.x < static_cast<u32>(work.payload.args[0]))
        work.args[threadIdx.x] = args[threadIdx.x];
      __syncthreads();
    }
    if (threadIdx.x == 0 && launch.signal != 0)
      mark_started(launch.queue, work, launch.begin + i);
    run_task(work, launch.table);
    __syncthreads();
  }
  if (threadIdx.x == 0) finish_burst(launch);
}

// The shortest way from a launch to a task and back.
__device__ void run_row_burst(const Launch& launch, Work& work) {
  const abi::RowTask& row = launch.row;
  // Each thread by itself: arrives while the arguments do.
  const OpFn operator_fn = launch.table[row.op];
  if (threadIdx.x < row.arg_count)
    work.args[threadIdx.x] = row.args[threadIdx.x];
  const Task task{work.args, worker_scratch, row.count};
  begin_burst();
  __syncthreads();
  for (u32 tile = blockIdx.x; tile < launch.inline_count; tile += gridDim.x) {
    if (threadIdx.x == 0 && row.is_traced != 0 && launch.signal != 0)
      mark_started(launch.queue, launch.begin + tile);
    operator_fn(task, Lane::of(tile, row.parts));
    __syncthreads();
  }
  if (threadIdx.x == 0) finish_burst(launch);
}

}  // namespace
}  // namespace gpuos

// One for both kernels, so that what operators keep lies at the same place.
__shared__ gpuos::Work gpuos_work;

extern "C" __global__ void __launch_bounds__(256, 4) gpuos_inline_worker(
    const __grid_constant__ gpuos::abi::InlineLaunch launch) {
  gpuos::run_inline_burst(launch, gpuos_work);
}

extern "C" __global__ void __launch_bounds__(256, 4)
    gpuos_worker(const __grid_constant__ gpuos::abi::Launch launch) {
  switch (launch.mode) {
    case gpuos::abi::kResident:
      gpuos::stay(launch, gpuos_work);
      break;
    case gpuos::abi::kRingBurst:
      gpuos::run_ring_burst(launch, gpuos_work);
      break;
    default:
      gpuos::run_row_burst(launch, gpuos_work);
  }
}

extern "C" {
// Whether begin_burst() waits: only then may a burst overlap the one before.
__device__ gpuos::u32 gpuos_worker_awaits = gpuos::kAwaitsPreviousLaunch;
}

// The operators' budget. A link raises the kernel to what the largest function
// whose address is taken needs, and an operator that is loaded later must not
// need more than the kernel has. This one keeps so many values alive that it
// needs every register that the compile's --maxrregcount leaves it, 64: what
// four workers of 256 threads a multiprocessor leave each thread. Never called.
extern "C" __device__ void gpuos_budget_anchor(gpuos::Task task, gpuos::Lane) {
  constexpr gpuos::u32 kLive = 64;
  volatile gpuos::u32* words = task.pointer<volatile gpuos::u32>(0);
  gpuos::u32 live[kLive];
#pragma unroll
  for (gpuos::u32 i = 0; i < kLive; ++i) live[i] = words[i];
#pragma unroll
  for (gpuos::u32 i = 0; i < kLive; ++i) words[kLive - i] = live[i];
}
extern "C" {
__device__ gpuos::OpFn gpuos_budget_anchor_entry = gpuos_budget_anchor;
}
