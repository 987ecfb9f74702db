#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "gpuos/call_key.h"
#include "module/pybind_objects.h"

namespace gpuos::python {

/// Returns the object for the library, which releases it with the GIL held.
inline HeldObject held(pybind11::object object) {
  return {object.release().ptr(),
          [](void* last) { Py_XDECREF(static_cast<PyObject*>(last)); }};
}
inline pybind11::object object_of(const HeldObject& held) {
  return pybind11::reinterpret_borrow<pybind11::object>(
      static_cast<PyObject*>(held.get()));
}

/// Compares and holds Python's objects.
class PythonObjects : public ForeignObjects {
 public:
  /// Throws: error_already_set, from a comparison of static arguments.
  bool is_same(void* a, void* b) const override;
  /// Copies an array.
  HeldObject hold(void* object) const override;
  StepResult compute(void* function,
                     std::span<void* const> operands) const override;
};
inline const PythonObjects kPythonObjects;

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

bool is_number(PyObject* object);

/// Returns NumberStep::function. `names` are the names of the last operands, a
/// tuple. `context` has another errstate of NumPy. Both may be null.
HeldObject step_function(pybind11::handle function, pybind11::handle names = {},
                         pybind11::handle context = {});
/// Returns the result of a step. Returns null, with an error set, if it raises.
pybind11::object call_step(void* function, std::span<void* const> operands);
StepResult step_result(const pybind11::object& made);
StepResult result_of_error(const pybind11::error_already_set& error);

}  // namespace gpuos::python
