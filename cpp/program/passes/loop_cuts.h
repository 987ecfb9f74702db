#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "program/passes/operations.h"

namespace gpuos::program {

/// The cut between two loops over a chunk that the host makes of one loop.
struct LoopCut {
  std::vector<std::uint32_t> kept;  // put into their arrays before it
  std::vector<std::uint32_t> used;  // earlier steps that the next loop uses
};

/// The places where the host cuts a loop of many operations. A processor looks
/// some hundred instructions ahead. If dependent operations fill that window,
/// it cannot start on the next elements. Each loop therefore has a few
/// operations, with arrays for the values in between.
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
