#pragma once

#include <cstdint>
#include <vector>

#include "device/program_text.h"
#include "program/plan.h"

namespace gpuos::program {

/// Returns the interpreter's text of a pass, as program_text.h describes.
/// Throws: InvalidArgument if too many values are needed at a time.
std::vector<std::uint64_t> text_of(const Pass& pass);

}  // namespace gpuos::program
