// The worker kernel. One block is one worker. nvcc builds it ahead of time, and
// NVRTC at run time.
#include "burst.h"
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
// The number of workers that poll without a pause, and the pause of the others.
constexpr u32 kNearTurns = 64;
constexpr u32 kFarPollNs = 500;

// For thread 0, after a barrier that follows the task. Tells the host and
// waiting workers when the last of the batch's `size` tasks is done.
__device__ void finish_task(const Queue& queue, u64 begin, u32 size) {
  const u32 place = place_of(queue, begin);
  // Releases what the block wrote. Pairs with the same fence of the worker that
  // finds itself last, and with the acquire loads in Ring::is_done() and in
  // is_finished(). Outputs are in device memory, which all readers reach
  // through the L2. So the device's scope is enough. A fence of the system
  // would wait 1.3 us for the bus.
  fence_gpu();
  if (size > 1) {
    if (atomicAdd(queue.counts + place, 1) + 1 != size) return;
    // This counter is not used again before the host has read `done`.
    queue.counts[place] = 0;
    fence_gpu();
  }
  const u32 tag = abi::lap_tag(begin, queue.capacity_bits);
  // In this order: after `done` the host may use the place again.
  store_relaxed(queue.flags + place, tag);
  store_relaxed_sys(queue.done + place, tag);
}

// Pairs with the store in finish_task(), together with a fence after it. An
// acquire load each time would empty the L1 of the other worker on this
// multiprocessor.
__device__ bool is_finished(const Queue& queue, u64 begin) {
  const u32 flag = load_relaxed(queue.flags + place_of(queue, begin));
  return static_cast<int>(flag - abi::lap_tag(begin, queue.capacity_bits)) >= 0;
}

__device__ u64 claim(const Launch& launch) {
  return atomicAdd(&launch.state->ticket, 1ull);
}

// For warp 0. Waits until the descriptor of `position` is there. Returns false
// if the worker must leave. Lane 0 claims the next position, unless the task
// may still be given back. `owes`: an earlier residency claimed the task. If
// not all workers fit at once, the last ones begin when others leave. They must
// not leave with a task that no other worker will run.
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
    // The chunks pair with the 16-byte stores in write_descriptor().
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
    // The host, a copy or another kernel may have written the task's inputs
    // since this multiprocessor last cached them.
    fence_gpu();
    __syncwarp();
    return true;
  }
}

// For warp 0. Waits for the batches that the task comes after. Returns false if
// the worker must leave.
__device__ bool await_batches(const Launch& launch, Watch& watch, Work& work,
                              u64 position, u64& next) {
  const Payload& payload = work.payload;
  if (!(payload.flags & (abi::kWaits | abi::kJoin))) return true;
  // Arrives while the batches run.
  if (abi::is_chain(payload.flags)) load_chain(work.chain, payload);
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
        if (threadIdx.x == 0) {
          set_turns(launch.queue, work.payload, position);
          mark_started(launch.queue, work, position);
        }
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

}  // namespace
}  // namespace gpuos

// Both kernels share this variable, so that operators find their state at the
// same address.
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
// True if begin_burst() waits. Only then may a burst overlap the previous one.
__device__ gpuos::u32 gpuos_worker_awaits = gpuos::kAwaitsPreviousLaunch;
}

// The register and stack budget of operators. A link raises the kernel to the
// needs of the largest function whose address is taken. An operator that is
// loaded later must not need more than the kernel has. This function keeps so
// many values alive that it needs all 64 registers of the compile's
// --maxrregcount. Four workers of 256 threads on a multiprocessor leave each
// thread 64. It is never called.
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
