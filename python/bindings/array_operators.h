#pragma once

#include "array.h"

namespace gpuos::python {

/// Returns a new array with the elements of `array`.
pybind11::object copied(const pybind11::object& array);

/// Adds the operators of numbers and everything else that an array computes by
/// programs.
void add_operators(pybind11::class_<Array>& type);

}  // namespace gpuos::python
