#include "array_shape.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "gpuos/error.h"
#include "reading.h"

namespace py = pybind11;

namespace gpuos::python {
namespace {

using Extents = std::vector<std::int64_t>;

std::string tuple_text(const std::int64_t* numbers, std::size_t count) {
  std::string text = "(";
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(numbers[i]);
  }
  if (count == 1) text += ',';
  return text + ")";
}

// f(2, 3) and f((2, 3)) mean the same.
Extents numbers_of(const py::args& args) {
  if (args.size() == 1) return shape_from(args[0]);
  return shape_from(args);
}

// Puts in what -1 stands for.
void complete(Extents& shape, const TensorView& view) {
  const std::string given = tuple_text(shape.data(), shape.size());
  const auto unknown = std::find(shape.begin(), shape.end(), -1);
  std::int64_t known = 1;
  bool fits = true;
  for (auto extent = shape.begin(); extent != shape.end(); ++extent) {
    if (extent == unknown) continue;
    fits =
        fits && *extent >= 0 && !__builtin_mul_overflow(known, *extent, &known);
  }
  if (unknown != shape.end()) {
    fits = fits && known > 0 && view.size() % known == 0;
    if (fits) *unknown = view.size() / known;
  } else {
    fits = fits && known == view.size();
  }
  if (fits && shape.size() <= kMaxDims) return;
  throw InvalidArgument("reshape: expected a shape of " +
                        std::to_string(view.size()) + " elements and at most " +
                        std::to_string(kMaxDims) + " dimensions, got " + given);
}

// The axes of more than one element.
struct Axes {
  Extents shape;
  Extents strides;
};

Axes axes_of(const TensorView& view) {
  const auto strides = view.element_strides();
  Axes axes;
  for (std::size_t i = 0; i < view.dims; ++i) {
    if (view.shape[i] == 1) continue;
    axes.shape.push_back(view.shape[i]);
    axes.strides.push_back(strides[i]);
  }
  return axes;
}

// Strides for `shape` over the same elements, if there are any. Both shapes
// are cut into the shortest groups of axes that have as many elements; those of
// an old group must follow each other without a gap.
std::optional<Extents> strides_for(const Extents& shape, const Axes& old) {
  Extents strides(shape.size(), 1);
  std::size_t from = 0;
  std::size_t to = 0;
  while (to < shape.size() && from < old.shape.size()) {
    std::size_t from_end = from + 1;
    std::size_t to_end = to + 1;
    std::int64_t from_elems = old.shape[from];
    std::int64_t to_elems = shape[to];
    while (from_elems != to_elems) {
      if (from_elems < to_elems) {
        from_elems *= old.shape[from_end++];
      } else {
        to_elems *= shape[to_end++];
      }
    }
    for (std::size_t i = from + 1; i < from_end; ++i) {
      if (old.strides[i - 1] != old.shape[i] * old.strides[i])
        return std::nullopt;
    }
    std::int64_t stride = old.strides[from_end - 1];
    for (std::size_t i = to_end; i-- > to;) {
      strides[i] = stride;
      stride *= shape[i];
    }
    from = from_end;
    to = to_end;
  }
  return strides;
}

}  // namespace

Extents shape_from(const py::object& shape) {
  if (PyIndex_Check(shape.ptr()) != 0) return {integer_of(shape, "shape")};
  return integers_of(shape, "shape");
}

py::tuple shape_of(const TensorView& view) {
  py::tuple shape(view.dims);
  for (std::size_t i = 0; i < view.dims; ++i) shape[i] = view.shape[i];
  return shape;
}

std::string shape_text(const TensorView& view) {
  return tuple_text(view.shape.data(), view.dims);
}

Extents strides_of(const TensorView& view) {
  const auto strides = view.element_strides();
  Extents bytes(strides.begin(), strides.begin() + view.dims);
  for (std::int64_t& stride : bytes)
    stride *= static_cast<std::int64_t>(size_of(view.dtype));
  return bytes;
}

py::tuple strides_tuple(const TensorView& view) {
  const Extents bytes = strides_of(view);
  py::tuple strides(bytes.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) strides[i] = bytes[i];
  return strides;
}

TensorView without_needless_strides(const TensorView& view) {
  TensorView same = view;
  same.has_strides = !view.is_contiguous();
  return same;
}

TensorView transposed(const TensorView& view, const py::args& axes) {
  Extents order(view.dims);
  std::iota(order.rbegin(), order.rend(), 0);
  if (!axes.empty() && !(axes.size() == 1 && axes[0].is_none())) {
    const Extents given = numbers_of(axes);
    order = given;
    for (std::int64_t& axis : order) axis += axis < 0 ? view.dims : 0;
    Extents sorted = order;
    std::sort(sorted.begin(), sorted.end());
    Extents all(view.dims);
    std::iota(all.begin(), all.end(), 0);
    if (sorted != all) {
      throw InvalidArgument("transpose: expected each of " +
                            std::to_string(view.dims) + " axes once, got " +
                            tuple_text(given.data(), given.size()));
    }
  }
  const auto strides = view.element_strides();
  TensorView turned = view;
  turned.has_strides = true;
  for (std::size_t i = 0; i < view.dims; ++i) {
    const auto axis = static_cast<std::size_t>(order[i]);
    turned.shape[i] = view.shape[axis];
    turned.strides[i] = strides[axis];
  }
  return without_needless_strides(turned);
}

TensorView reshaped(const TensorView& view, const py::args& shape) {
  Extents extents = numbers_of(shape);
  complete(extents, view);
  TensorView formed = view;
  formed.dims = static_cast<std::uint8_t>(extents.size());
  formed.shape.fill(0);
  std::copy(extents.begin(), extents.end(), formed.shape.begin());
  formed.has_strides = false;
  if (view.is_contiguous()) return formed;
  const auto strides = strides_for(extents, axes_of(view));
  if (!strides) {
    throw InvalidArgument("reshape: expected a shape that needs no copy, got " +
                          shape_text(formed) + " of " + to_string(view));
  }
  formed.has_strides = true;
  std::copy(strides->begin(), strides->end(), formed.strides.begin());
  return without_needless_strides(formed);
}

}  // namespace gpuos::python
