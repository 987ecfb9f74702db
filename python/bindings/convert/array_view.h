#pragma once

#include <cstddef>
#include <string>

#include "gpuos/dlpack.h"
#include "gpuos/tensor_view.h"
#include "module/pybind_objects.h"
#include "runtime/runtime_object.h"

namespace gpuos::python {

/// Holds a foreign array as a view, and the object that keeps its memory alive.
struct ForeignView {
  TensorView view;
  pybind11::object keep;
};

/// Views any object except a gpuos.Array. It may be a NumPy array, or an object
/// with DLPack, an array interface or the buffer protocol. Copies only
/// unaligned inputs of NumPy on the host, after the tasks that write them.
///
/// Throws: InvalidArgument for an object that is no array or is in the wrong
/// memory. Also for an unknown dtype, and for strides that are no whole
/// elements.
ForeignView view_foreign(PyObject* object, RuntimeObject& runtime, Role role);

bool is_ndarray(PyObject* object);

/// Returns whether it is a subclass of ndarray with its own operations, such as
/// a masked array or a matrix. Its memory alone does not define its value.
bool has_own_operations(PyObject* object);

/// Holds a contiguous, native, one-dimensional ndarray of 64-bit integers.
struct Integers {
  const void* data = nullptr;
  std::size_t count = 0;
};

/// Throws: InvalidArgument naming `what`.
Integers ndarray_integers(PyObject* object, const char* what);

}  // namespace gpuos::python
