#include "fused/fused_key.h"

#include "fused/fused_numbers.h"
#include "module/pybind_objects.h"
#include "module/python_module.h"
#include "values/value_object.h"

#include <algorithm>
#include <string>

namespace py = pybind11;

namespace gpuos::python {
namespace {

PyTypeObject* type_from(const char* module, const char* name) {
  return reinterpret_cast<PyTypeObject*>(
      py::object(python_module(module).attr(name)).release().ptr());
}

// Returns whether two objects are equal, where 1 differs from 1.0 and True, in
// tuples too. These lead to different programs.
bool is_same(PyObject* a, PyObject* b) {
  if (a == b) return true;
  if (Py_TYPE(a) != Py_TYPE(b)) return false;
  if (PyFloat_CheckExact(a) || PyComplex_CheckExact(a) || is_numpy_scalar(a))
    return is_same_number(a, b);  // -0.0 is not 0.0
  if (PyTuple_Check(a)) {
    const Py_ssize_t size = PyTuple_GET_SIZE(a);
    if (PyTuple_GET_SIZE(b) != size) return false;
    for (Py_ssize_t i = 0; i < size; ++i) {
      if (!is_same(PyTuple_GET_ITEM(a, i), PyTuple_GET_ITEM(b, i)))
        return false;
    }
    return true;
  }
  if (PyFrozenSet_Check(a)) {
    if (PySet_GET_SIZE(a) != PySet_GET_SIZE(b)) return false;
    py::dict known;
    for (const py::handle y : py::reinterpret_borrow<py::frozenset>(b))
      known[y] = y;
    for (const py::handle x : py::reinterpret_borrow<py::frozenset>(a)) {
      PyObject* const y = PyDict_GetItemWithError(known.ptr(), x.ptr());
      if (y == nullptr && PyErr_Occurred() != nullptr)
        throw py::error_already_set();
      if (y == nullptr || !is_same(x.ptr(), y)) return false;
    }
    return true;
  }
  const int equal = PyObject_RichCompareBool(a, b, Py_EQ);
  if (equal < 0) throw py::error_already_set();
  return equal == 1;
}

[[noreturn]] void fail_without_hash(PyObject* object) {
  const py::error_already_set error;
  if (!PyTuple_CheckExact(object) || !error.matches(PyExc_TypeError))
    throw error;
  throw py::type_error(
      "fuse: expected a tuple of what decides the program, got one with " +
      py::str(error.value()).cast<std::string>() +
      "; an array must be an argument of its own");
}

}  // namespace

void CallKey::add_object(ArgumentKind kind, PyObject* object) {
  const Py_hash_t hash = PyObject_Hash(object);
  if (hash == -1) fail_without_hash(object);
  add({.kind = kind});
  mix(static_cast<std::uint64_t>(hash));
  objects_[object_count_++] = object;
}

KnownKey::KnownKey(const CallKey& key)
    : hash(key.hash()), words(key.words().begin(), key.words().end()) {
  for (PyObject* object : key.objects())
    objects.push_back(py::reinterpret_borrow<py::object>(object));
}

bool KnownKey::matches(const CallKey& key) const {
  if (hash != key.hash() || !std::ranges::equal(words, key.words()) ||
      objects.size() != key.objects().size())
    return false;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    if (!is_same(objects[i].ptr(), key.objects()[i])) return false;
  }
  return true;
}

bool is_static(PyObject* object) {
  PyTypeObject* const enum_type =
      made_once([] { return type_from("enum", "Enum"); });
  PyTypeObject* const dtype_type =
      made_once([] { return type_from("numpy", "dtype"); });
  return object == Py_None || object == Py_Ellipsis ||
         PyUnicode_Check(object) || PyTuple_Check(object) ||
         PyType_Check(object) || PyBytes_Check(object) ||
         PyObject_TypeCheck(object, enum_type) ||
         PyObject_TypeCheck(object, dtype_type);
}

}  // namespace gpuos::python
