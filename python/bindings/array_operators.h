#pragma once

#include "array.h"

namespace gpuos::python {

/// The operators of numbers and what else an array computes by programs.
void add_operators(pybind11::class_<Array>& type);

}  // namespace gpuos::python
