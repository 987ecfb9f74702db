#pragma once

#include <Python.h>

#include "array_view.h"

namespace gpuos::python {

/// Which memory an array lies in.
struct MemoryKind {
  bool is_known = false;
  bool is_cuda = false;
  int device = 0;
};

/// Where a DLPack producer says that its data lies: a call of Python code.
MemoryKind memory_of(PyObject* object);

/// An array in `wanted` through the C functions of its type, in nanoseconds.
/// Nothing (a null `keep`) if they do not apply; view_dlpack() then gives the
/// view or says why there is none.
///
/// Throws: InvalidArgument as view_foreign() does.
ForeignView view_exchanged(PyObject* object, const MemoryKind& wanted,
                           Role role);

/// An array through `__dlpack__`, in microseconds; `wanted` is what the
/// producer said of its place.
///
/// Throws: InvalidArgument as view_foreign() does, and for what the producer
/// does not share; whatever else the producer raises.
ForeignView view_dlpack(PyObject* object, const MemoryKind& wanted, Role role);

}  // namespace gpuos::python
