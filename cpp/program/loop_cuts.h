#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "program/operations.h"

namespace gpuos::program {

/// Between two of the loops over a chunk that the host makes of one.
struct LoopCut {
  std::vector<std::uint32_t> kept;  // put into their arrays before it
  std::vector<std::uint32_t> used;  // earlier steps that the next loop uses
};

/// Where the host cuts a loop of many operations. A processor looks some
/// hundred instructions ahead. If operations that wait for each other fill
/// that, it never sees the next elements, which it could compute meanwhile;
/// so each loop has a few operations, and values lie in arrays in between.
struct LoopCuts {
  std::map<std::size_t, LoopCut> before;          // by place in the part
  std::map<std::uint32_t, std::size_t> array_of;  // by step
  std::vector<Type> arrays;
};

/// Cuts the loop of `part` of `pass`. `is_row` marks steps whose values belong
/// to a row.
LoopCuts cut_loop(const Pass& pass, std::size_t part,
                  const std::vector<bool>& is_row);

}  // namespace gpuos::program
