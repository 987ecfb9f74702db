#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gpuos/dtype.h"

namespace gpuos::jit {

/// What one loaded function needs from the kernel that calls it.
struct Resources {
  std::uint32_t registers = 0;       // per thread
  std::uint32_t stack_bytes = 0;     // per thread, its callees included
  std::uint32_t shared_bytes = 0;    // static, per block
  std::uint32_t constant_bytes = 0;  // user constant banks
};

/// What the loaded worker kernel grants an operator.
struct Budget {
  std::uint32_t registers = 0;
  std::uint32_t stack_bytes = 0;
};

/// A linked image that is ready to be loaded.
struct Image {
  std::string binary;                // CUBIN
  std::vector<std::string> entries;  // exported pointers: gpuos_entry_<...>
};

}  // namespace gpuos::jit
