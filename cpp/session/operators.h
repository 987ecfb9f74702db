#pragma once

#include <string>
#include <vector>

#include "gpuos/operator.h"
#include "session/device.h"
#include "session/workspace.h"

namespace gpuos::session {

/// Returns the definition of an elementwise operator that calls `function`. The
/// parameters that `params` names are scalars.
/// Throws: InvalidArgument for a function that cannot become an operator,
/// CompileError, BackendUnavailable.
OperatorDefinition define_operator(const DefinitionPtr& function,
                                   const std::string& name,
                                   const std::vector<std::string>& params,
                                   Workspace& workspace, Device& device);

}  // namespace gpuos::session
