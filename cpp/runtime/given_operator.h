#pragma once

#include "gpuos/operator.h"
#include "queue/backend.h"

namespace gpuos {

/// Makes an operator's object what `source` and `code` say, which is what
/// backends build. A definition without one stays as it is.
/// Throws: InvalidArgument for an object of another kind or without a function
/// that takes what the operator takes, BackendUnavailable if `traits` are those
/// of a backend that cannot run it.
void complete_object(OperatorDefinition& definition, const Traits& traits);

}  // namespace gpuos
