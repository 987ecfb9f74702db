// Requests by name: gpuos.torch.submit_add() and the like.
#pragma once

#include <Python.h>

namespace gpuos::bridge {

/// submit(name, operands..., out): a tensor or a number each. Raises ValueError
/// for what cannot be put off.
PyObject* submit_request(PyObject*, PyObject* const* arguments,
                         Py_ssize_t count);
/// submit_rows(name, tensor, out, dims or None, keepdim).
PyObject* submit_rows_request(PyObject*, PyObject* const* arguments,
                              Py_ssize_t count);
PyObject* submit_add(PyObject*, PyObject* const* arguments, Py_ssize_t count);
PyObject* submit_sub(PyObject*, PyObject* const* arguments, Py_ssize_t count);
PyObject* submit_mul(PyObject*, PyObject* const* arguments, Py_ssize_t count);
PyObject* submit_div(PyObject*, PyObject* const* arguments, Py_ssize_t count);

// Entries of a module's method table.
#define GPUOS_REQUEST_FUNCTION(name, function)                             \
  {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(function)), \
   METH_FASTCALL, nullptr}
#define GPUOS_REQUEST_FUNCTIONS                                    \
  GPUOS_REQUEST_FUNCTION("submit", &submit_request),               \
      GPUOS_REQUEST_FUNCTION("submit_rows", &submit_rows_request), \
      GPUOS_REQUEST_FUNCTION("submit_add", &submit_add),           \
      GPUOS_REQUEST_FUNCTION("submit_sub", &submit_sub),           \
      GPUOS_REQUEST_FUNCTION("submit_mul", &submit_mul),           \
      GPUOS_REQUEST_FUNCTION("submit_div", &submit_div)

}  // namespace gpuos::bridge
