#pragma once

#include <string>
#include <string_view>

namespace gpuos::host {

/// Returns the files that a compilation has read, with their sizes and times,
/// one per line, from the compiler's make rule. Files in `own_folder` are
/// omitted. Empty if they cannot be determined.
std::string dependencies_from(std::string_view rule,
                              std::string_view own_folder);

/// Returns whether all of the files are unchanged. Returns false for an empty
/// text.
bool are_unchanged(std::string_view dependencies);

/// Returns whether a source may depend on files or the time that the compiler
/// does not list. It returns true if unsure.
bool has_hidden_inputs(std::string_view source);

}  // namespace gpuos::host
