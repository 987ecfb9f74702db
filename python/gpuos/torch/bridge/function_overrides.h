// Functions of the module torch that defer the usual calls, like the methods
// of method_overrides.h.
#pragma once

namespace gpuos::bridge {

/// Makes PyTorch's function objects call ours. The objects stay the same, so
/// programs that have imported or compare them see no difference.
/// Throws: python_error.
void install_functions();
void remove_functions();

}  // namespace gpuos::bridge
