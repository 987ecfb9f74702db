#pragma once

#include <memory>

#include "device/operator.h"
#include "expression/expression.h"

namespace gpuos {

/// What interpret() runs: an expression for one dtype, ready for the host.
///
/// Threads: any number may run one program at the same time.
class InterpreterProgram;

/// Throws: InvalidArgument if `dtype` has no such function or literal.
std::shared_ptr<const InterpreterProgram> make_interpreter_program(
    const Expression& expression, DType dtype);

/// An OpFn whose `task.state` points to an InterpreterProgram. Buffers are the
/// same or disjoint. Nothing is allocated.
void interpret(Task task, Lane lane);

}  // namespace gpuos
