#pragma once

#include "device/program_text.h"
#include "program/few.h"
#include "program/plan.h"

namespace gpuos::program {

/// One instruction before it has cells: what is done to the operands' values.
struct Operation {
  Code code{};
  Type type{};
};

using Operations = Few<Operation, 4>;

/// What computes `step`, one operation after the other, each on the result of
/// the one before; the first has all operands. Empty: the result is the
/// operand itself. Not for loads, stores, scalars and reductions.
Operations operations_of(const Step& step);

/// How many of its operands are steps.
std::size_t operands_of(const Step& step);

/// What makes a reduction's result a value of its dtype.
Operations after_reduction(const Step& step);

/// A Form: how `operation` is run.
u8 form_of(const Operation& operation);

Operation load_of(DType dtype);
Operation store_of(DType dtype);

/// The type in which a reduction gathers; bool as unsigned, so that a maximum
/// begins with 0.
Type reduction_type(const Step& step);

/// The first of a reduction's codes: begin, then each value, then all together.
Code reduction_code(Op op);

/// Cells that a reduction of such values gathers in; an argmax keeps the place
/// behind the value.
std::uint32_t gathered_cells(const Step& step);

}  // namespace gpuos::program
