#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "gpuos/program.h"

namespace gpuos::program {

/// The part of an axis of some size that an index keeps.
struct IndexedAxis {
  std::int64_t first = 0;
  std::int64_t size = 0;
  std::int64_t step = 1;
};

/// Indexes an axis as Python does. Throws: InvalidArgument for a place that
/// does not exist, and for sizes that it does not fit.
IndexedAxis indexed_axis(const AxisIndex& axis, std::int64_t size);

/// Checks an index. Returns All if it keeps any axis unchanged. Throws:
/// InvalidArgument for a step of 0.
AxisIndex checked(const AxisIndex& axis);

/// One for all that keep as many places of every axis: x[1:], x[:-1] and so on.
AxisIndex same_size(const AxisIndex& axis);

/// "(2, 3)"
std::string shape_text(std::span<const std::int64_t> shape);

}  // namespace gpuos::program
