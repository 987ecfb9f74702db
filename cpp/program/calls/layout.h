#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "device/interpreter/text.h"
#include "gpuos/tensor_view.h"
#include "program/graph/plan.h"

namespace gpuos::program {

/// The order and strides in which a pass visits memory in one call.
struct Layout {
  std::uint64_t rows = 1;
  std::uint64_t columns = 1;
  std::uint32_t outer = 0;  // dimensions of a row's number
  std::uint32_t inner = 0;  // of a column's; none if there are no columns
  std::uint32_t accesses = 0;
  std::array<std::uint64_t, kMaxAxes> sizes;
  std::array<std::uint64_t, kMaxAccesses> addresses;
  /// By access and dimension. Units: bytes.
  std::array<std::array<std::int64_t, kMaxAxes>, kMaxAccesses> strides;

  std::uint32_t dims() const noexcept { return outer + inner; }
  std::uint64_t elements() const noexcept { return rows * columns; }
};

/// Returns the distance between two elements along `dim`. Units: elements.
std::int64_t stride_of(const TensorView& view, std::size_t dim);

/// `views` has the memory of each access. Dimensions that can be walked
/// through as one become one, and of a pass without reductions those with the
/// shortest strides come last.
/// Throws: InvalidArgument for sizes that a task has no room for.
void make_layout(const Pass& pass, std::span<const std::int64_t> sizes,
                 std::span<const TensorView* const> views, Layout& layout);

/// A bit for each access that walks without gaps. It is empty if an access
/// neither does that nor is constant, or if there is more than one dimension.
std::optional<std::uint32_t> flat_accesses(const Pass& pass,
                                           const Layout& layout);

}  // namespace gpuos::program
