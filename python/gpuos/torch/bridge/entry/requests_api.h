// Requests by name: gpuos.torch.submit_add() and the like.
#pragma once

#include <Python.h>

#include "pytorch/python.h"

namespace gpuos::bridge {

/// submit(name, operands..., out) defers a request whose operands are tensors
/// or numbers. Raises ValueError if it cannot be deferred.
PyObject* submit_request(PyObject*, PyObject* const* arguments,
                         Py_ssize_t count);
/// submit_rows(name, tensor, out, dims or None, keepdim).
PyObject* submit_rows_request(PyObject*, PyObject* const* arguments,
                              Py_ssize_t count);
PyObject* submit_add(PyObject*, PyObject* const* arguments, Py_ssize_t count);
PyObject* submit_sub(PyObject*, PyObject* const* arguments, Py_ssize_t count);
PyObject* submit_mul(PyObject*, PyObject* const* arguments, Py_ssize_t count);
PyObject* submit_div(PyObject*, PyObject* const* arguments, Py_ssize_t count);

#define GPUOS_SUBMIT_DOC(name, symbol)                                      \
  name "(a, b, out, /)\n--\n\n"                                             \
       "Defer ``out = a " symbol                                            \
       " b``.\n\n"                                                          \
       "Operands are tensors or numbers that broadcast to the shape of "    \
       "`out`, of\n"                                                        \
       "any real dtypes and strides, on one device and without gradients. " \
       "They\n"                                                             \
       "are held until it is done.\n\n"                                     \
       "Raises\n------\nValueError\n    It cannot be deferred; nothing was."

// X(name, function, documentation): entries of a module's method table.
#define GPUOS_REQUEST_FUNCTIONS(X)                                       \
  X("submit", &submit_request, nullptr),                                 \
      X("submit_rows", &submit_rows_request, nullptr),                   \
      X("submit_add", &submit_add, GPUOS_SUBMIT_DOC("submit_add", "+")), \
      X("submit_sub", &submit_sub, GPUOS_SUBMIT_DOC("submit_sub", "-")), \
      X("submit_mul", &submit_mul, GPUOS_SUBMIT_DOC("submit_mul", "*")), \
      X("submit_div", &submit_div, GPUOS_SUBMIT_DOC("submit_div", "/"))
#define GPUOS_REQUEST_FUNCTION(name, function, documentation) \
  {name, function_cast<PyCFunction>(function), METH_FASTCALL, documentation}

}  // namespace gpuos::bridge
