#pragma once

#include <cstdint>

namespace gpuos {

/// How many forks lie between the program's start and this process. A runtime
/// that was made under another number belongs to a parent process.
std::uint32_t fork_generation() noexcept;

}  // namespace gpuos
