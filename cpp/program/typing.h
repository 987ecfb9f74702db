#pragma once

#include <span>

#include "gpuos/dtype.h"
#include "program/graph.h"

namespace gpuos::program {

/// The dtypes of an operation's operands and result.
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

}  // namespace gpuos::program
