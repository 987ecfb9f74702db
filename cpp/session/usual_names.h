#pragma once

#include <string_view>

namespace gpuos::session {

/// Whether nvcc gives a name to host code without an #include.
bool is_usual_name(std::string_view name);

/// Whether the first line of a compiler's error quotes such a name.
bool lacks_usual_name(std::string_view error);

/// What declares all of them.
std::string_view usual_text();

/// What a session has instead of the name of CUDA that an error quotes, as a
/// part of that sentence; empty if it quotes none.
std::string_view hint_of_cuda(std::string_view error);

}  // namespace gpuos::session
