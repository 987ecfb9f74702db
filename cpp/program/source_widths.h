#pragma once

#include <cstdint>
#include <vector>

#include "program/source.h"

namespace gpuos::program {

/// How many elements the code of a pass takes at a time.
struct Widths {
  /// Of the widest access that 16 bytes hold; fewer if each takes long to
  /// compute, and to compile.
  std::uint32_t pack = 1;
  /// What a lane of the device has under way: enough bytes to keep memory
  /// busy, as far as registers and the compiler's time allow.
  std::uint32_t elements = 1;
  /// Of those that do not lie side by side each has addresses of its own.
  std::uint32_t scattered = 1;
  /// A chunk of the host.
  std::uint32_t host_elements = 1;
};

/// `is_row`: the steps whose values are those of a row. `is_ordered`: as in
/// source_of().
Widths widths_of(const Pass& pass, const std::vector<bool>& is_row,
                 Effort effort, bool is_ordered);

}  // namespace gpuos::program
