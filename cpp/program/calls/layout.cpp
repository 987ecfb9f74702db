#include "program/calls/layout.h"

#include <algorithm>
#include <cassert>
#include <cstdlib>

#include "base/concat.h"
#include "gpuos/error.h"

namespace gpuos::program {
std::int64_t stride_of(const TensorView& view, std::size_t dim) {
  if (view.has_strides) return view.strides[dim];
  std::int64_t stride = 1;
  for (std::size_t d = dim + 1; d < view.dims; ++d) stride *= view.shape[d];
  return stride;
}

namespace {

std::int64_t byte_stride(const BufferAccess& access, const TensorView& view,
                         std::size_t axis) {
  if (access.dims[axis] == kNoDim) return 0;
  const std::size_t dim = static_cast<std::uint8_t>(access.dims[axis]);
  if (view.shape[dim] == 1) return 0;
  return stride_of(view, dim) *
         static_cast<std::int64_t>(gpuos::size_of(view.dtype));
}

void remove_dim(Layout& layout, std::uint32_t d) {
  const std::uint32_t dims = layout.dims();
  std::move(layout.sizes.begin() + d + 1, layout.sizes.begin() + dims,
            layout.sizes.begin() + d);
  for (std::uint32_t a = 0; a < layout.accesses; ++a) {
    auto& strides = layout.strides[a];
    std::move(strides.begin() + d + 1, strides.begin() + dims,
              strides.begin() + d);
  }
  --(d < layout.outer ? layout.outer : layout.inner);
}

void swap_dims(Layout& layout, std::uint32_t d, std::uint32_t e) {
  std::swap(layout.sizes[d], layout.sizes[e]);
  for (std::uint32_t a = 0; a < layout.accesses; ++a)
    std::swap(layout.strides[a][d], layout.strides[a][e]);
}

/// Returns whether a step along `d` continues at the end of `d` + 1.
bool can_merge(const Layout& layout, std::uint32_t d) {
  const auto size = static_cast<std::int64_t>(layout.sizes[d + 1]);
  for (std::uint32_t a = 0; a < layout.accesses; ++a) {
    const auto& strides = layout.strides[a];
    if (strides[d] != strides[d + 1] * size) return false;
  }
  return true;
}

/// Returns whether `d` should come before `e`. Written arrays decide first.
bool is_outer(const Pass& pass, const Layout& layout, std::uint32_t d,
              std::uint32_t e) {
  for (const bool writes : {true, false}) {
    for (std::uint32_t a = 0; a < layout.accesses; ++a) {
      if (pass.accesses[a].writes != writes) continue;
      const std::int64_t x = std::abs(layout.strides[a][d]);
      const std::int64_t y = std::abs(layout.strides[a][e]);
      if (x != y) return x > y;
    }
  }
  return d < e;
}

void sort_inner(const Pass& pass, Layout& layout) {
  const std::uint32_t first = layout.outer;
  for (std::uint32_t i = first + 1; i < layout.dims(); ++i)
    for (std::uint32_t d = i; d > first && is_outer(pass, layout, d, d - 1);
         --d)
      swap_dims(layout, d, d - 1);
}

void collapse(Layout& layout) {
  // Empty rows have no loop, so their sizes are never divisors.
  if (layout.columns == 0) layout.inner = 0;
  for (std::uint32_t d = layout.dims(); d-- > 0;)
    if (layout.sizes[d] == 1) remove_dim(layout, d);
  for (std::uint32_t d = layout.dims(); d-- > 1;) {
    const std::uint32_t before = d - 1;
    const bool same_group = (before < layout.outer) == (d < layout.outer);
    if (!same_group || !can_merge(layout, before)) continue;
    layout.sizes[d] *= layout.sizes[before];
    remove_dim(layout, before);
  }
}

/// A task has 32 bits for a size, and needs none for the first ones.
void check_sizes(const Layout& layout) {
  for (std::uint32_t d = 0; d < layout.dims(); ++d)
    if (d != 0 && d != layout.outer && layout.sizes[d] >> 32 != 0)
      throw InvalidArgument(
          concat("program: expected sizes below 2^32 in arrays with gaps or in "
                 "another order than C's, got ",
                 layout.sizes[d]));
}

/// Returns the elements of dimensions [first, last). Only checks use it.
[[maybe_unused]] std::uint64_t count(const Layout& layout, std::uint32_t first,
                                     std::uint32_t last) {
  std::uint64_t count = 1;
  for (std::uint32_t d = first; d < last; ++d) count *= layout.sizes[d];
  return count;
}

}  // namespace

void make_layout(const Pass& pass, std::span<const std::int64_t> sizes,
                 std::span<const TensorView* const> views, Layout& layout) {
  layout.outer = static_cast<std::uint32_t>(pass.outer.size());
  layout.inner = static_cast<std::uint32_t>(pass.inner.size());
  layout.accesses = static_cast<std::uint32_t>(pass.accesses.size());
  layout.rows = layout.columns = 1;
  for (std::uint32_t d = 0; d < layout.dims(); ++d) {
    const bool is_row = d < layout.outer;
    const SetId set = is_row ? pass.outer[d] : pass.inner[d - layout.outer];
    layout.sizes[d] = static_cast<std::uint64_t>(sizes[set]);
    (is_row ? layout.rows : layout.columns) *= layout.sizes[d];
  }
  for (std::uint32_t a = 0; a < layout.accesses; ++a) {
    layout.addresses[a] = reinterpret_cast<std::uint64_t>(views[a]->data);
    for (std::uint32_t d = 0; d < layout.dims(); ++d)
      layout.strides[a][d] = byte_stride(pass.accesses[a], *views[a], d);
  }
  if (!pass.has_reduction) sort_inner(pass, layout);
  collapse(layout);
  check_sizes(layout);
  assert(count(layout, 0, layout.outer) == layout.rows);
  assert(layout.columns == 0 ||
         count(layout, layout.outer, layout.dims()) == layout.columns);
}

std::optional<std::uint32_t> flat_accesses(const Pass& pass,
                                           const Layout& layout) {
  if (layout.outer != 0 || layout.inner > 1 || pass.has_reduction)
    return std::nullopt;
  std::uint32_t flat = 0;
  for (std::uint32_t a = 0; a < layout.accesses; ++a) {
    if (layout.inner == 0 || layout.strides[a][0] == 0) continue;
    const auto bytes =
        static_cast<std::int64_t>(gpuos::size_of(pass.accesses[a].dtype));
    if (layout.strides[a][0] != bytes) return std::nullopt;
    flat |= 1u << a;
  }
  return flat;
}

}  // namespace gpuos::program
