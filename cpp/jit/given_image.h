#pragma once

#include <string>

#include "jit/module_compiler.h"

namespace gpuos::jit {

/// An image that somebody else compiled, with the architecture that it names.
/// `name` is for messages.
/// Throws: InvalidArgument if it is neither a CUBIN nor PTX, and says what it
/// is instead.
ModuleImage read_image(std::string bytes, const std::string& name);

}  // namespace gpuos::jit
