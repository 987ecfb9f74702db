#pragma once

#include "pybind_objects.h"

namespace gpuos::python {

/// Puts one function before all that pybind11 made for the module, so that
/// each says in our words what it expected: pybind11's own TypeError lists C++
/// signatures and the repr() of everything that came. Objects whose __init__
/// never ran are refused too. To be called last.
void reword_refusals(const pybind11::module_& module);

}  // namespace gpuos::python
