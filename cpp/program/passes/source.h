#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "program/graph/plan.h"

namespace gpuos::program {

/// The name of the operator that source_of() writes.
inline constexpr const char* kCompiledName = "program";

/// The number of elements that a lane computes at a time.
enum class Effort : std::uint8_t {
  Full,     // several elements, so that enough memory accesses are under way
  Careful,  // one, if more would need more registers than a worker has
};

/// Returns the source of an operator that runs a task as the interpreter does.
/// C++ for both backends; sizes, strides and scalars come with the task.
/// `is_ordered`: the device puts columns together in the order of
/// device/interpreter/device_order.h.
std::string source_of(const Pass& pass, Effort effort = Effort::Full,
                      bool is_ordered = false);

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
