// The operators that programs call most, without boxing their arguments.
#pragma once

#include <torch/library.h>

#include <string>
#include <vector>

namespace gpuos::bridge {

/// Registers them above autograd. Returns their names.
std::vector<std::string> register_kernels(torch::Library& mode);

}  // namespace gpuos::bridge
