#pragma once

#include "gpuos/program.h"

namespace gpuos::program {

/// Computes a function of several operations: of a short float in float32,
/// rounded once at the end.
template <typename Function>
Value in_single(const Value& x, Function function) {
  if (x.is_weak() || !is_short_float(x.dtype())) return function(x);
  return ProgramBuilder::cast(function(ProgramBuilder::cast(x, DType::Float32)),
                              x.dtype());
}

}  // namespace gpuos::program
