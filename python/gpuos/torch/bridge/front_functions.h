// Functions of the module torch that defer the usual calls, like the methods
// of front.h.
#pragma once

namespace gpuos::bridge {

/// Has Python call ours where it calls PyTorch's functions. They stay the same
/// objects: who has imported one or compares them sees no difference.
/// Throws: python_error.
void install_functions();
void remove_functions();

}  // namespace gpuos::bridge
