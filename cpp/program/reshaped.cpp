#include "program/reshaped.h"

#include <algorithm>

namespace gpuos::program {
namespace {

/// A view's dimensions, except those of size 1.
struct Walk {
  std::array<std::int64_t, kMaxDims> shape{};
  std::array<std::int64_t, kMaxDims> strides{};
  std::size_t dims = 0;

  explicit Walk(const TensorView& view) {
    const auto all = view.element_strides();
    for (std::size_t d = 0; d < view.dims; ++d) {
      if (view.shape[d] == 1) continue;
      shape[dims] = view.shape[d];
      strides[dims++] = all[d];
    }
  }

  /// Returns whether dimensions [first, last) are walked as one.
  bool is_one(std::size_t first, std::size_t last) const {
    for (std::size_t d = first; d + 1 < last; ++d)
      if (strides[d] != strides[d + 1] * shape[d + 1]) return false;
    return true;
  }
};

}  // namespace

std::optional<TensorView> reshaped(const TensorView& view,
                                   std::span<const std::int64_t> shape) {
  TensorView made = view;
  made.dims = static_cast<std::uint8_t>(shape.size());
  std::ranges::copy(shape, made.shape.begin());
  made.has_strides = false;
  if (view.size() == 0 || view.is_contiguous()) return made;
  made.has_strides = true;
  const Walk walk(view);
  // Dimensions of both that have the same number of elements together.
  std::size_t from = 0;
  std::size_t to = 0;
  while (to < shape.size()) {
    std::size_t end_from = from;
    std::size_t end_to = to + 1;
    std::int64_t left = 1;
    std::int64_t right = shape[to];
    while (left != right) {
      if (left < right)
        left *= walk.shape[end_from++];
      else
        right *= shape[end_to++];
    }
    if (!walk.is_one(from, end_from)) return {};
    std::int64_t stride = end_from > from ? walk.strides[end_from - 1] : 0;
    for (std::size_t d = end_to; d-- > to;) {
      made.strides[d] = stride;
      stride *= shape[d];
    }
    from = end_from;
    to = end_to;
  }
  return made;
}

}  // namespace gpuos::program
