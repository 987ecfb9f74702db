#pragma once

#include "gpuos/tensor_view.h"

namespace gpuos::program {

/// Whether two arrays have a byte in common: not whether the ranges that they
/// lie in meet, because columns of a matrix lie between each other. True as
/// well if that takes very long to find out.
bool share_memory(const TensorView& a, const TensorView& b);

/// Whether two elements of an array have memory in common, as those of sliding
/// windows have. True as well if that takes very long to find out.
bool overlaps_itself(const TensorView& view);

}  // namespace gpuos::program
