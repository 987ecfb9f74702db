#pragma once

#include <Python.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gpuos/runtime.h"
#include "gpuos/scalar.h"
#include "module/pybind_objects.h"

namespace gpuos::python {

// These functions read Python objects. `what` names the argument in messages:
// "shape: expected an integer, got str". Reading may run Python code, so an
// object's answers hold only for that moment. The functions return copies of
// their own.

/// Returns the text. Throws: TypeError for no str, InvalidArgument for one with
/// a lone surrogate.
std::string text_of(pybind11::handle object, const char* what);

/// Calls PyNumber_Index(), with gpuos's error text if it is no integer. Throws:
/// TypeError.
pybind11::object index_of(pybind11::handle object, const char* what);

/// Returns the number of a Python int, or nothing if neither int64 nor uint64
/// holds it.
std::optional<Scalar> scalar_of_int(PyObject* integer) noexcept;

/// Returns an integer, also one of NumPy. Throws: TypeError, InvalidArgument.
std::int64_t integer_of(pybind11::handle object, const char* what);

/// Reads an integer of a narrower type.
template <typename Int>
Int integer_as(pybind11::handle object, const char* what);

/// Returns the number of a version, from 1 on, and 0 for None. Throws:
/// TypeError, InvalidArgument.
std::uint64_t version_from(pybind11::handle object, const char* what);

/// Returns an address. Throws: TypeError, InvalidArgument for an impossible
/// address.
void* address_of(pybind11::handle object, const char* what);

/// Returns a real number. Throws: TypeError, OverflowError.
double real_of(pybind11::handle object, const char* what);

/// Returns the truth value, as `if` does. Throws: the errors of the object.
bool truth_of(pybind11::handle object);

/// Returns the items of an iterable that is no text. Throws: TypeError.
pybind11::tuple items_of(pybind11::handle object, const char* what);

std::vector<std::int64_t> integers_of(pybind11::handle object,
                                      const char* what);
std::vector<std::string> texts_of(pybind11::handle object, const char* what);
/// Reads strings, and objects that have a path, such as pathlib's.
std::vector<std::string> folders_of(pybind11::handle object, const char* what);

/// Returns the items of a dict or another mapping. Throws: TypeError.
std::vector<std::pair<pybind11::object, pybind11::object>> pairs_of(
    pybind11::handle object, const char* what);

/// Returns str(object) for a message. No object can make it fail.
std::string whole_text(pybind11::handle object);
/// Returns the object's repr(), cut if it is long.
std::string shown(pybind11::handle object);

/// Returns "module.Type" of an object.
std::string type_text(pybind11::handle object);

/// Returns the type's name, and the number if it is one: "float 2.5".
std::string kind_shown(pybind11::handle object);

/// Throws: TypeError, "<what>: expected <expected>, got <kind>".
[[noreturn]] void refuse_type(const char* what, const char* expected,
                              pybind11::handle got);

/// Throws: InvalidArgument naming the limits.
[[noreturn]] void refuse_range(const char* what, std::int64_t least,
                               std::uint64_t most, pybind11::handle got);

template <typename Int>
Int integer_as(pybind11::handle object, const char* what) {
  using Limits = std::numeric_limits<Int>;
  const std::int64_t value = integer_of(object, what);
  if (!std::in_range<Int>(value))
    refuse_range(what, Limits::min(), Limits::max(), object);
  return static_cast<Int>(value);
}

/// Returns whether `object` has an attribute that can be read. An attribute
/// that raises does not count, and its error is dropped. From 3.13 on
/// PyObject_HasAttrString() reports such errors.
inline bool has_attribute(pybind11::handle object, const char* name) noexcept {
#if PY_VERSION_HEX >= 0x030D0000
  PyObject* found = nullptr;
  if (PyObject_GetOptionalAttrString(object.ptr(), name, &found) < 0)
    PyErr_Clear();
  const bool is_there = found != nullptr;
  Py_XDECREF(found);
  return is_there;
#else
  return PyObject_HasAttrString(object.ptr(), name) == 1;
#endif
}

/// Returns the stream of None (the runtime's own), an integer handle, or an
/// object. The object is of PyTorch (.cuda_stream) or CuPy (.ptr), or has the
/// __cuda_stream__ protocol.
/// Throws: TypeError.
Stream stream_from(PyObject* stream);

}  // namespace gpuos::python
