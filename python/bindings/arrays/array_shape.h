#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gpuos/tensor_view.h"
#include "module/pybind_objects.h"

namespace gpuos::python {

/// Returns the extents of an int or a sequence of int.
std::vector<std::int64_t> shape_from(const pybind11::object& shape);

pybind11::tuple shape_of(const TensorView& view);

/// Returns "(2, 3)".
std::string shape_text(const TensorView& view);

/// Returns strides in bytes.
std::vector<std::int64_t> strides_of(const TensorView& view);
pybind11::tuple strides_tuple(const TensorView& view);

/// Returns the view without its strides if it is in C order.
TensorView without_needless_strides(const TensorView& view);

// The following functions return views of the same memory, as NumPy makes them.
// They never copy.

/// Returns the view by integers, slices, None, an Ellipsis, or a tuple of
/// these. Throws: IndexError, TypeError for other indices, InvalidArgument for
/// too many dimensions.
TensorView indexed(const TensorView& view, const pybind11::object& index);
/// Returns whether the index has an integer for each axis and nothing else.
bool is_of_element(const TensorView& view, pybind11::handle index);
/// Returns the axes in another order: all of them, negative ones counted from
/// the end. None, or no axes at all, reverses them. Throws: InvalidArgument.
TensorView transposed(const TensorView& view, const pybind11::args& axes);
/// Returns the real or the imaginary parts of complex elements.
TensorView part_of(const TensorView& view, bool is_imaginary);
/// Gives the elements, in C order, another shape. One extent may be -1. Throws:
/// InvalidArgument if that needs a copy or other elements.
TensorView reshaped(const TensorView& view, const pybind11::args& shape);

}  // namespace gpuos::python
