// The calls that a compiled pass is made of on the device, and which of them a
// task takes.
#pragma once

#include "compiled/loops_device.h"
#include "compiled/narrow_rows.h"
#include "compiled/streamed_rows.h"
#include "compiled/strips.h"
#include "compiled/tiles.h"

namespace gpuos {
namespace program {

// These are calls, so that rare code takes no registers from the rest.
template <typename P>
__device__ __noinline__ bool run_packs(Task task, Lane lane) {
  return Tile<PassOf<P, false>>(task, lane).run();
}
// Each call is in tail position, so that few registers are saved for it.
template <typename P>
__device__ __noinline__ void start_strided(Task task, Lane lane) {
  if (find_tiles<P>(task, lane))
    run_tiles<P>(task, lane);
  else if (!run_packs<P>(task, lane))
    run_strips<P>(task, lane);
}
template <typename P>
__device__ __noinline__ void run_rest(Task task, Lane lane) {
  Tile<PassOf<P, false>>(task, lane).run_rest();
}
template <typename P>
__device__ __noinline__ void run_flat(Task task, Lane lane) {
  Tile<PassOf<P, true>>(task, lane).run();
}

// True for a pass that does little except wait for memory. Its plain rows are
// run by calls that each keep few registers. A function first saves the
// registers that its caller may use. For all lanes of all workers these are
// tens of megabytes of memory traffic, in addition to what is reduced.
template <typename P>
constexpr bool kStreams = P::kReduces && P::kLoops == 1 && P::kScattered > 1 &&
                          P::kElements > P::kWidth;

template <typename P>
__device__ __noinline__ void run_kept(Task task, Lane lane) {
  KeptRows<P>(task, lane).run();
}
template <typename P>
__device__ __noinline__ bool is_packed(Task task) {
  return TaskLayout<P>(task).is_packed;
}
template <typename P>
__device__ __noinline__ typename P::template Row<1> stream_unit(Task task,
                                                                Lane lane,
                                                                u32 unit) {
  return Tile<P>(task, lane, Packed{}, 0).stream_unit(unit);
}
template <typename P>
__device__ __noinline__ u32 finish_unit(Task task, Lane lane, u32 unit,
                                        u32 half,
                                        typename P::template Row<1> row) {
  return Tile<P>(task, lane, Packed{}, half).finish_unit(unit, row);
}
template <typename P>
__device__ inline void run_streams(const Task& task, const Lane& lane) {
  const RowShape rows = TaskArguments<P::kAccesses, P::kScalars>(task).rows;
  const u32 units = groups(rows) * rows.slices;
  u32 half = 0;
#pragma unroll 1
  for (u32 unit = lane.tile(); unit < units; unit += lane.tiles())
    half = finish_unit<P>(task, lane, unit, half,
                          stream_unit<P>(task, lane, unit));
}

template <typename P>
__device__ __noinline__ void run_rows(Task task, Lane lane) {
  if (!Tile<PassOf<P, false>>(task, lane).run()) run_rest<P>(task, lane);
}

// Rows without known properties.
template <typename P>
__device__ __noinline__ void run_loose(Task task, Lane lane) {
  if (is_packed<PassOf<P, false>>(task))
    run_streams<PassOf<P, false>>(task, lane);
  else
    run_rows<P>(task, lane);
}

// A long pass has no code of its own for few elements.
template <typename P>
__device__ inline void run_strided(const Task& task, const Lane& lane) {
  if constexpr (!kIsLong<P>) {
    constexpr u32 kFew = 2;  // for each lane
    if (task.count <= lane.count() * kFew) {
      run_few<P>(task, lane);
      return;
    }
  }
  start_strided<P>(task, lane);
}

// Each call is in tail position, so that few registers are saved for it.
template <typename P>
__device__ inline void run_reduction(const Task& task, const Lane& lane) {
  const typename KeptRows<P>::Told told(task);
  if constexpr (!kIsLong<P>) {
    if (NarrowRows<P>::fit(told, lane)) {
      NarrowRows<P>(told, lane).run();
      return;
    }
  }
  if constexpr (P::kWidth > 1) {
    if (KeptRows<P>::are_packed(told)) {
      if (KeptRows<P>::fit(told)) {
        if constexpr (kStreams<P>)
          run_kept<P>(task, lane);
        else
          KeptRows<P>(task, lane).run();
        return;
      }
      if constexpr (kStreams<P> && P::kLoads != 0) {
        if (StreamedRows<P>::fit(told)) {
          start_streamed<P>(task, lane, told);
          return;
        }
      }
    }
  }
  if constexpr (kStreams<P>)
    run_loose<P>(task, lane);
  else
    run_rows<P>(task, lane);
}

template <typename P>
__device__ inline void run(const Task& task, const Lane& lane) {
  if constexpr (P::kReduces) {
    run_reduction<P>(task, lane);
  } else {
    const TaskShape shape =
        bit_cast<TaskShape>(task.args[1 + P::kAccesses + P::kScalars]);
    if (!(shape.flags & kFlat))
      run_strided<P>(task, lane);
    else if (task.count > lane.count())
      run_flat<P>(task, lane);
    else
      // Such a task ends soon, if little code has to be fetched for it.
      Tile<PassOf<P, true>>(task, lane, Packed{}, 0).run_single();
  }
}

}  // namespace program
}  // namespace gpuos
