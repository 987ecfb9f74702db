// The program's own submissions to a runtime, in addition to deferred ones.
#pragma once

#include "gpuos/bridge.h"

namespace gpuos::bridge {

/// Told of each submission with somebody else's arrays: tensors among them are
/// run before, and whatever PyTorch does with them later comes after it.
const ArrayWatch& array_watch();

}  // namespace gpuos::bridge
