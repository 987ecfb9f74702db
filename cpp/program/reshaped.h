#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "gpuos/tensor_view.h"

namespace gpuos::program {

/// Gives the elements, in C order, another shape. It is empty if that is no
/// view. `shape` has as many elements.
std::optional<TensorView> reshaped(const TensorView& view,
                                   std::span<const std::int64_t> shape);

}  // namespace gpuos::program
