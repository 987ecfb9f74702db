#pragma once

#include "gpuos/program.h"
#include "pybind_objects.h"

namespace gpuos::python {

/// Adds views of the values of a fused function: indices, reshape() and others.
void add_views(pybind11::class_<Value>& type);

}  // namespace gpuos::python
