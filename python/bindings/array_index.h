#pragma once

#include "gpuos/tensor_view.h"
#include "pybind_objects.h"

namespace gpuos::python {

/// The part of `view` that NumPy's basic indexing means: integers, slices,
/// None, an Ellipsis, or a tuple of these. Never copies.
///
/// Throws: IndexError, TypeError for other indices, InvalidArgument for too
/// many dimensions.
TensorView indexed(const TensorView& view, const pybind11::object& index);

}  // namespace gpuos::python
