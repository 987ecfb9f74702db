#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "gpuos/fused.h"
#include "module/pybind_objects.h"

namespace gpuos::python {

/// Returns the object for the library, which releases it with the GIL held.
inline std::shared_ptr<void> held(pybind11::object object) {
  return {object.release().ptr(),
          [](void* last) { Py_XDECREF(static_cast<PyObject*>(last)); }};
}
inline pybind11::object object_of(const std::shared_ptr<void>& held) {
  return pybind11::reinterpret_borrow<pybind11::object>(
      static_cast<PyObject*>(held.get()));
}

/// Compares and holds Python's objects.
class PythonObjects : public ForeignObjects {
 public:
  /// Throws: error_already_set, from a comparison of static arguments.
  bool is_same(void* a, void* b) const override;
  /// Copies an array.
  std::shared_ptr<void> hold(void* object) const override;
};
inline const PythonObjects python_objects;

/// Returns the hash of an object that decides the program. Throws: TypeError if
/// it has none.
std::uint64_t hash_of(PyObject* object);

/// Returns whether the object is None, a str, bytes, a tuple, an enum, a type,
/// a NumPy dtype or `...`.
bool is_static(PyObject* object);

/// Returns the kind of a Python number, as ArgumentWord has it. Returns Float32
/// if `object` is none.
inline DType kind_of_number(PyObject* object) noexcept {
  if (PyFloat_CheckExact(object)) return DType::Float64;
  if (PyLong_CheckExact(object)) return DType::Int64;
  if (PyBool_Check(object)) return DType::Bool;
  return PyComplex_CheckExact(object) ? DType::Complex128 : DType::Float32;
}

/// Returns how a program takes the object as a scalar. Returns nothing if it is
/// no number, or a number that fits no dtype.
std::optional<ArgumentWord> word_of(PyObject* object);

/// Returns a number of Python or NumPy. Throws: OutOfRange.
Scalar scalar_from(PyObject* number);

/// Returns whether two numbers have one type and equal bits.
bool is_same_number(PyObject* a, PyObject* b);

}  // namespace gpuos::python
