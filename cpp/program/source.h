#pragma once

#include <string>

#include "program/plan.h"

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
/// device/program_device_order.h.
std::string source_of(const Pass& pass, Effort effort = Effort::Full,
                      bool is_ordered = false);

}  // namespace gpuos::program
