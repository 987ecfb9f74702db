#pragma once

#include "gpuos/program.h"

namespace gpuos::program {

inline bool is_half(const Value& x) {
  return !x.is_weak() &&
         (x.dtype() == DType::Float16 || x.dtype() == DType::BFloat16);
}

/// Computes a function of several operations: of a half type in float32,
/// rounded once at the end.
template <typename Function>
Value in_single(const Value& x, Function function) {
  if (!is_half(x)) return function(x);
  return ProgramBuilder::cast(function(ProgramBuilder::cast(x, DType::Float32)),
                              x.dtype());
}

}  // namespace gpuos::program
