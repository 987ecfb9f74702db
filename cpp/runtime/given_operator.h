#pragma once

#include "gpuos/operator.h"
#include "queue/backend.h"

namespace gpuos {

/// Converts an operator's object to the `source` and `code` that backends
/// build. A definition without one stays unchanged.
/// Throws: InvalidArgument for an object of another kind or without a function
/// of the operator's signature, BackendUnavailable if `traits` are those of a
/// backend that cannot run it.
void complete_object(OperatorDefinition& definition, const Traits& traits);

}  // namespace gpuos
