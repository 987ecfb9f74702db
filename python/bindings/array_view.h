#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "gpuos/tensor_view.h"
#include "pybind_objects.h"
#include "runtime_object.h"

namespace gpuos::python {

/// Which argument of which call a message is about.
struct Role {
  const char* call;
  int input;  // -1: the output
  std::string text() const;
};

/// A foreign array as a view, and what keeps its memory alive.
struct ForeignView {
  TensorView view;
  pybind11::object keep;
};

/// Any object but a gpuos.Array: a NumPy array, or whatever speaks DLPack, an
/// array interface or the buffer protocol. Never copies but inputs of NumPy on
/// the host that lie where no element of their dtype does, once what writes
/// them is done.
///
/// Throws: InvalidArgument for what is no array, lies in the wrong memory, has
/// a dtype that gpuos does not know or strides that are no whole elements.
ForeignView view_foreign(PyObject* object, RuntimeObject& runtime, Role role);

bool is_ndarray(PyObject* object);

/// Returns whether it is a subclass of ndarray with its own operations, such as
/// a masked array or a matrix. Its memory alone does not define its value.
bool has_own_operations(PyObject* object);

/// A contiguous, native, one-dimensional ndarray of 64-bit integers.
struct Integers {
  const void* data = nullptr;
  std::size_t count = 0;
};

/// Throws: InvalidArgument naming `what`.
Integers ndarray_integers(PyObject* object, const char* what);

/// The memory that an array interface describes.
struct InterfaceData {
  void* address = nullptr;
  bool read_only = false;
};

/// Throws: InvalidArgument, TypeError for what is no array interface.
InterfaceData interface_data(const pybind11::object& interface, Role role);

}  // namespace gpuos::python
