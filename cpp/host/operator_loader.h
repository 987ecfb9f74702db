#pragma once

#include "host/operator_table.h"
#include "queue/backend.h"

namespace gpuos::host {

/// Interprets an expression, compiles a whole operator.
/// Throws: InvalidArgument, CompileError, BackendUnavailable.
LoadedOperator load_operator(const OperatorBuild& build);

}  // namespace gpuos::host
