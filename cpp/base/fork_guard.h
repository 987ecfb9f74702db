#pragma once

#include <atomic>
#include <cstdint>

namespace gpuos {

/// The child counts it. Only fork_generation() reads it.
extern std::atomic<std::uint32_t> forks;

/// Returns the number of forks between the program's start and this process. A
/// runtime made under another number belongs to a parent process.
inline std::uint32_t fork_generation() noexcept {
  return forks.load(std::memory_order_relaxed);
}

}  // namespace gpuos
