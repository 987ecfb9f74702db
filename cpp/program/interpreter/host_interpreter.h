#pragma once

#include "device/operator.h"

namespace gpuos::program {

/// An OpFn that runs the text of a pass on this thread. Nothing is allocated.
void interpret(Task task, Lane lane);

}  // namespace gpuos::program
