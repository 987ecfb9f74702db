// The program's own submissions to a runtime, in addition to deferred ones.
#pragma once

#include "gpuos/bridge.h"

namespace gpuos::bridge {

/// Observes each submission with foreign arrays. Pending operations on its
/// tensors run before it, and later PyTorch operations on them run after it.
const ArrayWatch& array_watch();

}  // namespace gpuos::bridge
