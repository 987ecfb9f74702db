#pragma once

#include "array.h"

namespace gpuos::python {

/// A new array with its elements.
pybind11::object copied(const pybind11::object& array);

/// The operators of numbers and what else an array computes by programs.
void add_operators(pybind11::class_<Array>& type);

}  // namespace gpuos::python
