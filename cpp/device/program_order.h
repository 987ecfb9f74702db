// The order in which the host puts the columns of a row together: with the
// interpreter or compiled code, one row after the other or many side by side,
// by one worker or several. The number of columns decides it, nothing else.
//
// - Columns are in C order of the axes that the operand is reduced along.
// - A row is cut into blocks of 256 columns; the last one has what is left.
// - A block of more than 16 columns has 16 partial values: column c goes to
//   number c % 16. Each begins with what the reduction begins with, such as 0,
//   and takes its columns one by one. Then the first 8 take the last 8, the
//   first 4 the next 4, the first 2 the next 2, and number 0 number 1.
// - A block of up to 16 columns has one partial value.
// - Blocks are put together as a tree: what comes first is the largest power of
//   two of them that is less than all, and so on for both sides.
// - A row without columns is what the reduction begins with.
//
// Sums in program_reductions.h is written so, and for the interpreter's rows
// side by side program/host_sums.h.
#pragma once

#include "integers.h"

namespace gpuos {
namespace program {

enum : u32 {
  kPartials = 16,
  kOrderedBlock = 256,
  // The levels of the tree, for any row and where many rows are walked
  // together.
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

// Columns of each of a row's `slices` but the last: a power of two of blocks,
// so that each slice is a branch of the tree.
GPUOS_DEVICE constexpr u64 slice_columns(u64 columns, u64 slices) {
  u64 size = kOrderedBlock;
  while (size * slices < columns) size *= 2;
  return size;
}

// Calls `join(level)` where value number `number` of a tree takes the ones
// before it, and says on which level the result waits.
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
