#pragma once

#include <string>
#include <string_view>

namespace gpuos::host {

/// The files that a compilation has read, with their sizes and times, a line
/// for each, out of what a compiler wrote for make. Files in `own_folder` are
/// left out. Empty if they cannot be told.
std::string dependencies_from(std::string_view rule,
                              std::string_view own_folder);

/// Returns whether all of them are what they were; false for an empty text.
bool are_unchanged(std::string_view dependencies);

/// Returns whether a text says by itself that files or the time decide what it
/// is, which a compiler names nowhere. In doubt it does.
bool has_hidden_inputs(std::string_view source);

}  // namespace gpuos::host
