#pragma once

#include <string>
#include <string_view>

#include "gpuos/operator.h"
#include "jit/module_compiler.h"
#include "jit/toolkit/target.h"
#include "jit/unit_compiler.h"

namespace gpuos::jit {

struct GivenObject {
  Object object;
  char result = 'v';  // the function's result, see PtxFunction
};

/// Reads an object that another compiler made, ready to be linked. The contents
/// of LTO-IR cannot be read before it is compiled: check_lto() does that.
/// Throws: InvalidArgument if it is of another kind, has no such function, or
/// one that takes other arguments.
GivenObject read_object(const DeviceObject& given, WantedFunction function);

/// Searches for the function in the PTX that was made of LTO-IR.
/// Throws: CompileError where read_object() throws InvalidArgument.
void check_lto(const Object& object, std::string_view made);

/// Checks a given object.
/// Throws: CompileError if it is for another architecture than the operators
/// that it is linked with.
void check_architecture(const Object& object, const Target& target);

/// Reads an image that another compiler made, with the architecture that it
/// names. `name` is for messages.
/// Throws: InvalidArgument if it is neither a CUBIN nor PTX, and says what it
/// is instead.
ModuleImage read_image(std::string bytes, const std::string& name);

}  // namespace gpuos::jit
