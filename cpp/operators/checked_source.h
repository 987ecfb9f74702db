#pragma once

#include <memory>

#include "gpuos/operator.h"
#include "queue/backend.h"
#include "queue/checked_operator.h"

namespace gpuos {

/// What a checked operator is compiled from. A prelude has its arguments'
/// table; in its text `float* x = task.pointer<float>(0)` is
/// `auto x = task.pointer<float>(0)`, or the plain pointer would be all that is
/// left. Lines stay where they are.
CheckedSource checked_source(const OperatorDefinition& definition);

/// What the messages about it name: its buffers as the source calls them.
std::shared_ptr<const CheckedOperator> checked_operator(
    const OperatorDefinition& definition);

}  // namespace gpuos
