#pragma once

#include "module/pybind_objects.h"

namespace gpuos::python {

/// Adds a final class that Python shows as one of the package `home`.
template <typename Type, typename... Options, typename... Extra>
pybind11::class_<Type, Options...> add_class(pybind11::module_& module,
                                             const char* name,
                                             const char* home = "gpuos",
                                             const Extra&... extra) {
  // Classes are instances of `type`, as their stubs say.
  pybind11::class_<Type, Options...> type(
      module, name, pybind11::is_final(),
      pybind11::metaclass(reinterpret_cast<PyObject*>(&PyType_Type)), extra...);
  type.attr("__module__") = home;
  return type;
}

/// Adds a class whose instances only gpuos makes. An instance from Python would
/// be empty.
template <typename Type, typename... Options, typename... Extra>
pybind11::class_<Type, Options...> add_result_class(pybind11::module_& module,
                                                    const char* name,
                                                    const Extra&... extra) {
  auto type = add_class<Type, Options...>(module, name, "gpuos", extra...);
  reinterpret_cast<PyTypeObject*>(type.ptr())->tp_new =
      [](PyTypeObject* made, PyObject*, PyObject*) -> PyObject* {
    PyErr_Format(PyExc_TypeError, "%s: only gpuos makes instances",
                 made->tp_name);
    return nullptr;
  };
  return type;
}

// Lists what adds classes and functions to the module, in this order. A later
// one may name the types of an earlier one.
#define GPUOS_REGISTRATIONS(X) \
  X(errors)                    \
  X(cache)                     \
  X(ticket)                    \
  X(array)                     \
  X(operator)                  \
  X(runtime)                   \
  X(submit) X(value) X(functions) X(fused) X(kernel) X(jit) X(session) X(bridge)
#define GPUOS_REGISTER(name) void register_##name(pybind11::module_& module);
GPUOS_REGISTRATIONS(GPUOS_REGISTER)
#undef GPUOS_REGISTER

/// Adds the docstrings of _core.pyi to the names of the module. The package
/// calls it after it has added the parts in Python. Throws: ImportError for a
/// name that the module does not have.
void add_docstrings(const pybind11::module_& module);

/// Puts a function before all functions that pybind11 made for the module.
/// Errors then say in gpuos's words what was expected. pybind11's own TypeError
/// lists C++ signatures and the repr() of every argument. Also refuses objects
/// whose __init__ never ran. The module calls this last.
void reword_refusals(const pybind11::module_& module);

}  // namespace gpuos::python
