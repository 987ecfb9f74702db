#pragma once

#include "pybind_objects.h"

namespace gpuos::python {

/// Classes are instances of `type`, as their stubs say.
inline pybind11::metaclass plain_metaclass() {
  return pybind11::metaclass(reinterpret_cast<PyObject*>(&PyType_Type));
}

/// Only gpuos makes instances; one made by Python would be empty.
inline void forbid_new(const pybind11::handle& type) {
  reinterpret_cast<PyTypeObject*>(type.ptr())->tp_new =
      [](PyTypeObject* made, PyObject*, PyObject*) -> PyObject* {
    PyErr_Format(PyExc_TypeError, "%s: only gpuos makes instances",
                 made->tp_name);
    return nullptr;
  };
}

// Each adds its classes and functions to the module, in the order of
// module.cpp: a later one may name the types of an earlier one.
void register_errors(pybind11::module_& module);
void register_cache(pybind11::module_& module);
void register_diagnose(pybind11::module_& module);
void register_ticket(pybind11::module_& module);
void register_array(pybind11::module_& module);
void register_definition(pybind11::module_& module);
void register_operator(pybind11::module_& module);
void register_runtime(pybind11::module_& module);
void register_control(pybind11::module_& module);
void register_transaction(pybind11::module_& module);
void register_submit(pybind11::module_& module);
void register_value(pybind11::module_& module);
void register_functions(pybind11::module_& module);
void register_fused(pybind11::module_& module);
void register_kernel(pybind11::module_& module);
void register_jit(pybind11::module_& module);
void register_session(pybind11::module_& module);
void register_bridge(pybind11::module_& module);

/// Gives the names that are registered the docstrings of _core.pyi. Throws:
/// ImportError for a name that the module does not have.
void add_docstrings(const pybind11::module_& module);

}  // namespace gpuos::python
