#pragma once

#include <set>
#include <string>
#include <string_view>

#include "jit/image.h"

namespace gpuos::jit {

/// Registers, stack and memory of `function` in a linked CUBIN, read from its
/// ELF sections.
/// Throws: CompileError if it is no CUBIN or has no such function.
Resources read_resources(std::string_view cubin, std::string_view function);

/// Whether the CUBIN defines the function or variable `symbol`.
/// Throws: CompileError if it is no CUBIN.
bool has_symbol(std::string_view cubin, std::string_view symbol);

/// Whether the CUBIN uses a `symbol` that it leaves to the driver to define.
/// Throws: CompileError if it is no CUBIN.
bool needs_symbol(std::string_view cubin, std::string_view symbol);

/// Names of the functions and variables that the CUBIN defines.
/// Throws: CompileError if it is no CUBIN.
std::set<std::string> symbol_names(std::string_view cubin);

}  // namespace gpuos::jit
