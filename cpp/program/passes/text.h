#pragma once

#include <cstdint>
#include <vector>

#include "device/interpreter/text.h"
#include "program/graph/plan.h"

namespace gpuos::program {

/// Returns the interpreter's text of a pass, as device/interpreter/text.h
/// describes. Throws: InvalidArgument if too many values are needed at a time.
std::vector<std::uint64_t> text_of(const Pass& pass);

}  // namespace gpuos::program
