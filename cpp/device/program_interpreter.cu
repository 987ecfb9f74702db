// The interpreter of programs, an operator of the worker. All lanes run each
// instruction, for one or four elements each. Operands are in shared memory. A
// function is inline or is called by its address.
#include "interpreter/plain.h"
#include "interpreter/run.h"

namespace gpuos {
namespace program {
namespace {

// These are separate calls, each with contiguous code and few saved registers.
// A short task spends most of its time on fetching code.
template <u32 W>
__device__ __noinline__ void interpret_elements(const DeviceTask& task,
                                                u32 lanes, u32 tile,
                                                u32 tiles) {
  Interpreter<W>(task, lanes).run_elements(tile, tiles);
}
template <u32 W>
__device__ __noinline__ void interpret_rows(const DeviceTask& task, u32 lanes,
                                            u32 tile, u32 tiles) {
  Interpreter<W>(task, lanes).run_rows(tile, tiles);
}
template <u32 W>
__device__ __noinline__ void interpret_slices(const DeviceTask& task, u32 lanes,
                                              u32 tile, u32 tiles) {
  Interpreter<W>(task, lanes).run_slices(tile, tiles);
}
template <u32 W>
__device__ __noinline__ void interpret_long(const DeviceTask& task, u32 lanes,
                                            u32 tile, u32 tiles) {
  Interpreter<W>(task, lanes).run_long_elements(tile, tiles);
}

template <u32 W>
__device__ __forceinline__ void run(const DeviceTask& task, u32 lanes, u32 tile,
                                    u32 tiles) {
  if (task.rows.slices > 1)
    interpret_slices<W>(task, lanes, tile, tiles);
  else if (task.shape.flags & kRows)
    interpret_rows<W>(task, lanes, tile, tiles);
  else if (task.size() > kKept)
    interpret_long<W>(task, lanes, tile, tiles);
  else
    interpret_elements<W>(task, lanes, tile, tiles);
}

template <u32 W>
__device__ __noinline__ void interpret_plain(PlainTask plain, u32 tile,
                                             u32 tiles) {
  PlainInterpreter<W>(plain).run(tile, tiles);
}

// The number of lanes whose cells all fit, a power of two.
__device__ u32 lanes_with_room(u32 cells) {
  u32 lanes = blockDim.x;
  while (lanes > 32 && cells * lanes * 4 > kCellBytes) lanes /= 2;
  return lanes;
}

// Runs every other task.
__device__ __noinline__ void interpret_any(Task task, Lane lane) {
  // Once for all lanes, because the L1 holds a part of their stacks.
  __shared__ DeviceTask what;
  __shared__ u32 ends[kKeptEnds];
  DeviceTask::keep_ends(task, ends);
  if (threadIdx.x == 0) what.read(task, ends);
  __syncthreads();
  const u32 cells = what.header.cells;
  // The host has counted the lanes of a task that splits rows.
  const u32 lanes =
      what.shape.flags & kRows ? what.rows.lanes : lanes_with_room(cells);
  const u32 tile = lane.tile();
  const u32 tiles = lane.tiles();
  // Takes four elements per lane if there are enough.
  const u64 together =
      what.shape.flags & kRows ? u64{what.rows.row_lanes} : u64{tiles} * lanes;
  const bool has_room = cells * lanes * 16 <= kCellBytes;
  if (has_room && what.rows.columns > together)
    run<4>(what, lanes, tile, tiles);
  else
    run<1>(what, lanes, tile, tiles);
}

}  // namespace
}  // namespace program
}  // namespace gpuos

GPUOS_OPERATOR(program) {
  using namespace gpuos::program;
  const auto* text = reinterpret_cast<const gpuos::u64*>(task.args[0]);
  const auto header = gpuos::bit_cast<TextHeader>(text[0]);
  const gpuos::u32 bytes = header.cells * blockDim.x * 4;  // of all cells
  if (!header.is_plain || bytes > kCellBytes ||
      !(gpuos::bit_cast<TaskShape>(
            task.args[1 + header.accesses + header.scalars])
            .flags &
        kFlat)) {
    interpret_any(task, lane);
    return;
  }
  const PlainTask plain(task, text, header);
  if (task.count > lane.count() && 4 * bytes <= kCellBytes)
    interpret_plain<4>(plain, lane.tile(), lane.tiles());
  else
    interpret_plain<1>(plain, lane.tile(), lane.tiles());
}
