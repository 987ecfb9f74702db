// The host combines the columns of a row in this order. The interpreter and
// compiled code, rows one by one or side by side, and any number of workers
// give the same order. The number of columns alone decides it.
//
// - Columns are in C order of the axes that the operand is reduced along.
// - A row is cut into blocks of 256 columns. The last block may be shorter.
// - A block of more than 16 columns has 16 partial values. Column c goes to
//   number c % 16. Each starts with the initial value of the reduction, such as
//   0, and takes its columns one by one. Then the first 8 take the last 8, the
//   first 4 the next 4, the first 2 the next 2, and number 0 number 1.
// - A block of up to 16 columns has one partial value.
// - Blocks are combined as a tree. The left branch has the largest power of two
//   of blocks that is less than all, and so on for both branches.
// - A row without columns has the initial value of the reduction.
//
// Sums in compiled/reductions.h implements this order, and
// program/interpreter/host_sums.h does for the interpreter's rows side by side.
#pragma once

#include "integers.h"

namespace gpuos {
namespace program {

enum : u32 {
  kPartials = 16,
  kOrderedBlock = 256,
  // The levels of the tree, for any row, and for loops over many rows.
  kLevels = 56,
  kRowLevels = 24
};
// Rows with at most this many columns need kRowLevels levels.
enum : u64 { kMostColumnsOfRows = u64{kOrderedBlock} << (kRowLevels - 1) };

// Returns the number of columns of the block that contains column `at` of
// `columns`.
GPUOS_DEVICE constexpr u64 block_columns(u64 at, u64 columns) {
  const u64 left = columns - at / kOrderedBlock * kOrderedBlock;
  return left < kOrderedBlock ? left : u64{kOrderedBlock};
}
GPUOS_DEVICE constexpr u64 blocks_of(u64 columns) {
  return (columns + kOrderedBlock - 1) / kOrderedBlock;
}

// Returns the columns of each of a row's `slices` except the last. It is a
// power of two of blocks, so that each slice is a branch of the tree.
GPUOS_DEVICE constexpr u64 slice_columns(u64 columns, u64 slices) {
  u64 size = kOrderedBlock;
  while (size * slices < columns) size *= 2;
  return size;
}

// Calls `join(level)` where value `number` of a tree is combined with earlier
// ones. Returns the level on which the result waits.
template <typename F>
GPUOS_DEVICE constexpr u32 climb(u64 number, F join) {
  u32 level = 0;
  for (; (number >> level & 1) != 0; ++level) join(level);
  return level;
}
// Calls `join(level)` for the results that still wait after all `count` values.
// The caller has the last result.
template <typename F>
GPUOS_DEVICE constexpr void climb_down(u64 count, F join) {
  u32 level = 0;
  while (count != 0 && (count >> level & 1) == 0) ++level;
  for (++level; level < 64 && count >> level != 0; ++level)
    if ((count >> level & 1) != 0) join(level);
}

}  // namespace program
}  // namespace gpuos
