#pragma once

#include "pybind_objects.h"

namespace gpuos::python {

/// Returns the result of `import name`. Throws: the errors of the import.
inline pybind11::object python_module(const char* name) {
  PyObject* const module = PyImport_ImportModule(name);
  if (module == nullptr) throw pybind11::error_already_set();
  return pybind11::reinterpret_steal<pybind11::object>(module);
}

}  // namespace gpuos::python
