#pragma once

#include <string_view>

namespace gpuos::session {

/// Returns whether nvcc gives a name to host code without an #include.
bool is_usual_name(std::string_view name);

/// Returns whether the first line of a compiler's error quotes such a name.
bool lacks_usual_name(std::string_view error);

/// Returns the source that declares all of them.
std::string_view usual_text();

/// Returns the end of an error's sentence that lists the names of CUDA which a
/// session has. Returns an empty text if the error quotes no name of CUDA.
std::string_view hint_of_cuda(std::string_view error);

}  // namespace gpuos::session
