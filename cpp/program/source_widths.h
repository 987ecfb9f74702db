#pragma once

#include <cstdint>
#include <vector>

#include "program/source.h"

namespace gpuos::program {

/// The numbers of elements that the code of a pass takes at a time.
struct Widths {
  /// The elements of the widest access that 16 bytes hold. There are fewer if
  /// each takes long to compute, and to compile.
  std::uint32_t pack = 1;
  /// The elements that a lane of the device loads at a time. They keep memory
  /// busy, as far as registers and the compiler's time allow.
  std::uint32_t elements = 1;
  /// The elements at a time if they are not side by side. Each has its own
  /// address.
  std::uint32_t scattered = 1;
  /// A chunk of the host.
  std::uint32_t host_elements = 1;
};

/// `is_row`: the steps whose values are those of a row. `is_ordered`: as in
/// source_of().
Widths widths_of(const Pass& pass, const std::vector<bool>& is_row,
                 Effort effort, bool is_ordered);

}  // namespace gpuos::program
