#pragma once

#include "gpuos/tensor_view.h"

namespace gpuos::program {

/// Returns whether two arrays share a byte. Their address ranges may overlap
/// without this, because columns of a matrix are interleaved. Also returns true
/// if the answer would take very long.
bool share_memory(const TensorView& a, const TensorView& b);

/// Returns whether two elements of an array share memory, as in sliding
/// windows. It is also true if the check would take very long.
bool overlaps_itself(const TensorView& view);

}  // namespace gpuos::program
