#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "gpuos/tensor_view.h"

namespace gpuos {

/// Returns `view` with another shape. Without strides it is in C order.
inline TensorView shaped(TensorView view,
                         const std::vector<std::int64_t>& shape,
                         const std::vector<std::int64_t>& strides = {}) {
  view.dims = static_cast<std::uint8_t>(shape.size());
  std::ranges::copy(shape, view.shape.begin());
  view.has_strides = !strides.empty();
  std::ranges::copy(strides, view.strides.begin());
  return view;
}

}  // namespace gpuos
