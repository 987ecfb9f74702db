#pragma once

#include "module/pybind_objects.h"

namespace gpuos::python {

/// Adds methods that Python implements: `names`, separated by spaces, are keys
/// of METHODS in `module`, which is imported at the first call.
void add_python_methods(const pybind11::handle& type, const char* module,
                        const char* names);

/// Adds properties that Python implements in the same way.
void add_python_properties(const pybind11::handle& type, const char* module,
                           const char* names);

}  // namespace gpuos::python
