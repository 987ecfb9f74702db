// A deterministic runtime combines the columns of a row in this order on a
// device. The number of columns alone decides it. Interpreted and compiled
// code, one worker and several, and any other reductions give the same order.
//
// - A row has ordered_slices() slices and each of these ordered_lanes() lanes.
// - Packs of 4 columns go round: pack p is for lane p % lanes of slice
//   p / lanes % slices.
// - A lane begins with what the reduction begins with, such as 0, and takes its
//   columns one by one, in their order.
// - Lanes are put together by halves, up to 32 neighbours first: the first 16
//   take the last 16, then 8, 4, 2, 1; then the groups of 32 in the same way.
// - The results of slices are columns again: slice s is for lane s % lanes, and
//   these are put together as before.
//
// In other runtimes Split (program/calls/task.h) decides the numbers of lanes
// and slices, by the amount of other work. The packs of compiled code are then
// as wide as an access.
#pragma once

#include "task_abi.h"

namespace gpuos {
namespace program {

enum : u32 {
  kPackColumns = 4,
  // The lanes of a row, and the number of lanes that are joined first.
  kMostRowLanes = 256,
  kJoinedLanes = 32,
  // The columns of each lane of a slice, and the slices of a row.
  kOrderedColumns = 64,
  kMostOrderedSlices = 128
};

// A warp is enough for at most 4 columns per lane. Otherwise a lane has at most
// 16 columns, up to a whole worker.
GPUOS_DEVICE constexpr u32 ordered_lanes(u64 columns) {
  u32 lanes = 1;
  while (lanes < kJoinedLanes && u64{lanes} * kPackColumns < columns)
    lanes *= 2;
  while (lanes < kMostRowLanes && u64{lanes} * (4 * kPackColumns) < columns &&
         lanes >= kJoinedLanes)
    lanes *= 2;
  return lanes;
}
GPUOS_DEVICE constexpr u32 ordered_slices(u64 columns) {
  const u64 slices = (columns + u64{kMostRowLanes} * kOrderedColumns - 1) /
                     (u64{kMostRowLanes} * kOrderedColumns);
  return slices == 0                   ? 1
         : slices < kMostOrderedSlices ? static_cast<u32>(slices)
                                       : u32{kMostOrderedSlices};
}

// Returns the column that follows `column` for a lane that takes `width`
// columns at a time. `step` is the distance from pack to pack.
GPUOS_DEVICE inline u64 column_after(u64 column, u32 width, u64 step) {
  const u64 next = column + width;
  return next % kPackColumns != 0 ? next : next - kPackColumns + step;
}

// Calls `f(takes, distance)` on lane `sub` of a row for each step of the join.
// `takes` says whether the lane combines its value with that of the lane at
// `distance`.
template <typename F>
GPUOS_DEVICE inline void join_by_halves(u32 lanes, u32 sub, F f) {
  const u32 near = lanes < kJoinedLanes ? lanes : u32{kJoinedLanes};
  const u32 place = sub & (near - 1);
  u32 first = 1;  // the last distance of the lanes or groups at hand
  for (u32 distance = near / 2; distance != 0;) {
    f(first == 1 ? place < distance : place == 0 && sub < distance, distance);
    if (distance != first) {
      distance /= 2;
    } else if (first == near || lanes == near) {
      return;
    } else {
      first = near;
      distance = lanes / 2;
    }
  }
}

}  // namespace program
}  // namespace gpuos
