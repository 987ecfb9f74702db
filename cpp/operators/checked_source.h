#pragma once

#include <memory>

#include "gpuos/operator.h"
#include "queue/backend.h"
#include "queue/checked_operator.h"

namespace gpuos {

/// Returns the source of a checked operator. A prelude has the table of its
/// arguments. In its text `float* x = task.pointer<float>(0)` becomes `auto x =
/// task.pointer<float>(0)`, because a plain pointer is not checked. Lines keep
/// their numbers.
CheckedSource checked_source(const OperatorDefinition& definition);

/// Returns the names for messages: the operator's buffers as the source calls
/// them.
std::shared_ptr<const CheckedOperator> checked_operator(
    const OperatorDefinition& definition);

}  // namespace gpuos
