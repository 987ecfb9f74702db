#pragma once

#include "pybind_objects.h"

namespace gpuos::python {

/// Puts a function before all functions that pybind11 made for the module.
/// Errors then say in gpuos's words what was expected. pybind11's own TypeError
/// lists C++ signatures and the repr() of every argument. Also refuses objects
/// whose __init__ never ran. The module calls this last.
void reword_refusals(const pybind11::module_& module);

}  // namespace gpuos::python
