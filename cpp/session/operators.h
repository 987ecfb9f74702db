#pragma once

#include <string>
#include <vector>

#include "gpuos/operator.h"
#include "session/device.h"
#include "session/workspace.h"

namespace gpuos::session {

/// The definition of an elementwise operator that calls `function`; its
/// parameters named in `params` are scalars.
/// Throws: InvalidArgument for a function that no operator can be made of,
/// CompileError, BackendUnavailable.
OperatorDefinition define_operator(const DefinitionPtr& function,
                                   const std::string& name,
                                   const std::vector<std::string>& params,
                                   Workspace& workspace, Device& device);

}  // namespace gpuos::session
