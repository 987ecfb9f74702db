#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "gpuos/jit_module.h"
#include "jit/objects/image.h"

namespace gpuos::jit {

/// Returns the C++ name of a symbol: "k(float*, int)". Returns the symbol
/// itself if it is no C++ name.
std::string demangled(const std::string& symbol);

/// Returns `text` with the C++ name of each symbol in it.
std::string with_demangled_names(std::string text);

/// Returns the functions of a PTX text that call `symbol`, demangled.
std::vector<std::string> callers_of(std::string_view ptx,
                                    const std::string& symbol);

/// Returns the names of the functions and variables that a CUBIN or a PTX text
/// defines.
std::set<std::string> defined_symbols(std::string_view binary);

/// Returns the symbol that `name` means in a module. `name` is a name
/// expression, a symbol itself, or the name of exactly one function or
/// variable.
/// Throws: InvalidArgument with the names of the module.
std::string resolve_name(const Image& image, std::string_view name,
                         std::string_view module);

/// Returns the types of a C++ function's parameters: "float*", "int". Returns
/// nothing for a symbol without types, such as an extern "C" function's.
std::optional<std::vector<std::string>> parameter_types(
    const std::string& symbol);

/// Follows a source. After this code a name expression asks for a variable's
/// type, and the compiler answers "float [4]". The answer is empty if the
/// compiler does not say.
inline constexpr const char* kTypeSpeller =
    "\ntemplate <typename T> __global__ void gpuos_type_of() {}\n";
std::string type_question(std::string_view name);
std::string type_answer(std::span<const LoweredName> symbols,
                        std::string_view name);

/// Returns the types of a source's variables by name, as the compiler writes
/// them: "float [4]". Symbols do not contain these types. Returns an empty map
/// if the compiler does not say. This costs a compilation of the source.
/// Throws: BackendUnavailable, Cancelled.
std::map<std::string, std::string> variable_types(
    const JitSource& source, std::span<const std::string> names,
    std::optional<int> compute_capability, std::stop_token stop = {});

}  // namespace gpuos::jit
