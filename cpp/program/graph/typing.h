#pragma once

#include <span>

#include "gpuos/dtype.h"
#include "gpuos/program.h"
#include "program/graph/graph.h"

namespace gpuos::program {

/// Returns the dtype of NumPy 2 that holds both. A short float that NumPy lacks
/// wins over integers. Two short floats give float32.
DType promote(DType a, DType b) noexcept;

/// Promotes a number of Python next to an array. `weak` is Bool, Int64, Float64
/// or Complex128.
DType promote_weak(DType weak, DType array) noexcept;

/// The smallest floating dtype that NumPy computes a function of this dtype in.
DType floating_of(DType dtype) noexcept;

struct Typing {
  DType operands{};  // all but a condition are converted to it
  DType result{};
  bool is_weak = false;
};

/// The dtypes that NumPy 2 gives `op` for these operands.
/// Throws: InvalidArgument `op: expected ..., got ...`.
Typing type_of(Op op, std::span<const Node> operands);

/// The dtype that a reduction computes and returns.
/// Throws: InvalidArgument.
Typing reduction_type_of(Op op, DType dtype);

/// Computes a function of several operations: of a short float in float32,
/// rounded once at the end.
template <typename Function>
Value in_single(const Value& x, Function function) {
  if (x.is_weak() || !is_short_float(x.dtype())) return function(x);
  return ProgramBuilder::cast(function(ProgramBuilder::cast(x, DType::Float32)),
                              x.dtype());
}

}  // namespace gpuos::program
