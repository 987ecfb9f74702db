#include <pybind11/pybind11.h>

#include "module/own_lock.h"
#include "module/registrations.h"

namespace {

// Sets an ImportError in a subinterpreter, where pybind11 would wait for ever
// for its lock.
bool is_in_subinterpreter() {
  if (PyInterpreterState_Get() == PyInterpreterState_Main()) return false;
  PyErr_SetString(PyExc_ImportError,
                  "gpuos: expected the main interpreter of the process, got a "
                  "subinterpreter");
  return true;
}

// Makes an object of a registered class. For another class pybind11's function
// throws through Python, which ends the process. object.__reduce__(), as
// pickle's protocol 0 calls it, asks for an object of pybind11's base. Other
// modules of this pybind11 have the same base and lose nothing.
PyObject* make_registered(PyTypeObject* type, PyObject*, PyObject*) {
  if (pybind11::detail::all_type_info(type).empty()) {
    PyErr_Format(PyExc_TypeError, "cannot make or pickle a bare '%.100s'",
                 type->tp_name);
    return nullptr;
  }
  return pybind11::detail::make_new_instance(type);
}

void refuse_bare_objects() {
  PyObject* base = pybind11::detail::get_internals().instance_base;
  reinterpret_cast<PyTypeObject*>(base)->tp_new = &make_registered;
}

}  // namespace

// This is the first statement of PYBIND11_MODULE's function, where pybind11
// compares versions. The name of the module's file has the version already.
#undef PYBIND11_CHECK_PYTHON_VERSION
#define PYBIND11_CHECK_PYTHON_VERSION \
  if (is_in_subinterpreter()) return nullptr;

// The module needs no GIL, because it takes a lock of its own (own_lock.h).
PYBIND11_MODULE(_core, module, pybind11::mod_gil_not_used()) {
  if (!gpuos::python::WithLock::make()) throw pybind11::error_already_set();
  refuse_bare_objects();
#define GPUOS_REGISTER(name) gpuos::python::register_##name(module);
  GPUOS_REGISTRATIONS(GPUOS_REGISTER)
#undef GPUOS_REGISTER
  module.def("_add_docstrings",
             [module] { gpuos::python::add_docstrings(module); });
  gpuos::python::reword_refusals(module);
}
