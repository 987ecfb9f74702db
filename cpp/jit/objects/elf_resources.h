#pragma once

#include <set>
#include <string>
#include <string_view>

#include "jit/objects/image.h"

namespace gpuos::jit {

/// Reads registers, stack and memory of `function` from the ELF sections of a
/// linked CUBIN.
/// Throws: CompileError if it is no CUBIN or has no such function.
Resources read_resources(std::string_view cubin, std::string_view function);

/// Returns whether the CUBIN defines the function or variable `symbol`.
/// Throws: CompileError if it is no CUBIN.
bool has_symbol(std::string_view cubin, std::string_view symbol);

/// Returns whether the CUBIN uses a `symbol` that the driver must define.
/// Throws: CompileError if it is no CUBIN.
bool needs_symbol(std::string_view cubin, std::string_view symbol);

/// Returns the names of the functions and variables that the CUBIN defines.
/// Throws: CompileError if it is no CUBIN.
std::set<std::string> symbol_names(std::string_view cubin);

}  // namespace gpuos::jit
