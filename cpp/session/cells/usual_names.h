#pragma once

#include <string_view>

namespace gpuos::session {

/// Returns whether nvcc gives a name to host code without an #include.
bool is_usual_name(std::string_view name);

/// Returns whether the first line of a compiler's error quotes such a name.
bool lacks_usual_name(std::string_view error);

/// Returns the source that declares all of them.
std::string_view usual_text();

/// Returns the end of the sentence of an error that says what to write. Errors
/// that quote a name of CUDA list the names that a session has. Returns an
/// empty text for other errors.
std::string_view hint_for(std::string_view error);

}  // namespace gpuos::session
