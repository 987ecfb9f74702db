#pragma once

#include "pybind_objects.h"

namespace gpuos::python {

/// Returns whether `object` has an attribute that can be read. An attribute
/// that raises does not count, and its error is dropped. From 3.13 on
/// PyObject_HasAttrString() reports such errors.
inline bool has_attribute(pybind11::handle object, const char* name) noexcept {
#if PY_VERSION_HEX >= 0x030D0000
  PyObject* found = nullptr;
  if (PyObject_GetOptionalAttrString(object.ptr(), name, &found) < 0)
    PyErr_Clear();
  const bool is_there = found != nullptr;
  Py_XDECREF(found);
  return is_there;
#else
  return PyObject_HasAttrString(object.ptr(), name) == 1;
#endif
}

}  // namespace gpuos::python
