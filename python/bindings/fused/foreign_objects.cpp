#include "fused/foreign_objects.h"

#include <algorithm>
#include <string>

#include "convert/array_view.h"
#include "gpuos/error.h"
#include "module/own_lock.h"
#include "module/python_module.h"
#include "values/value_object.h"

namespace py = pybind11;

namespace gpuos::python {
namespace {

PyTypeObject* type_from(const char* module, const char* name) {
  return reinterpret_cast<PyTypeObject*>(
      py::object(python_module(module).attr(name)).release().ptr());
}

// Returns whether two numbers have one type and equal bits.
bool is_same_number(PyObject* a, PyObject* b) {
  if (Py_TYPE(a) != Py_TYPE(b)) return false;
  if (word_of(a) && word_of(b)) return scalar_from(a).is_same(scalar_from(b));
  // No program has these numbers: integers of any size, longdoubles.
  if (PyLong_Check(a)) return PyObject_RichCompareBool(a, b, Py_EQ) == 1;
  return py::repr(a).equal(py::repr(b));
}

// Returns whether two objects are equal, where 1 differs from 1.0 and True, in
// tuples too. These lead to different programs.
bool is_equal(PyObject* a, PyObject* b) {
  if (a == b) return true;
  if (Py_TYPE(a) != Py_TYPE(b)) return false;
  if (PyFloat_CheckExact(a) || PyComplex_CheckExact(a) || is_numpy_scalar(a))
    return is_same_number(a, b);  // -0.0 is not 0.0
  if (PyTuple_Check(a)) {
    const Py_ssize_t size = PyTuple_GET_SIZE(a);
    if (PyTuple_GET_SIZE(b) != size) return false;
    for (Py_ssize_t i = 0; i < size; ++i) {
      if (!is_equal(PyTuple_GET_ITEM(a, i), PyTuple_GET_ITEM(b, i)))
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
      if (y == nullptr || !is_equal(x.ptr(), y)) return false;
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

bool PythonObjects::is_same(void* a, void* b) const {
  return is_equal(static_cast<PyObject*>(a), static_cast<PyObject*>(b));
}

HeldObject PythonObjects::hold(void* object) const {
  py::object own =
      py::reinterpret_borrow<py::object>(static_cast<PyObject*>(object));
  // The caller may change an array.
  return held(is_ndarray(own.ptr()) ? own.attr("copy")() : std::move(own));
}

std::uint64_t hash_of(PyObject* object) {
  const Py_hash_t hash = PyObject_Hash(object);
  if (hash == -1) fail_without_hash(object);
  return static_cast<std::uint64_t>(hash);
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

std::optional<ArgumentWord> word_of(PyObject* object) {
  if (const DType kind = kind_of_number(object); kind != DType::Float32) {
    if (kind == DType::Int64 && is_too_wide(object)) return std::nullopt;
    return ArgumentWord{.kind = ArgumentKind::Number, .dtype = kind};
  }
  if (!is_numpy_scalar(object)) return std::nullopt;
  try {
    return ArgumentWord{.kind = ArgumentKind::Scalar,
                        .dtype = dtype_of_scalar(object)};
  } catch (const InvalidArgument&) {  // a longdouble, a text
    return std::nullopt;
  }
}

Scalar scalar_from(PyObject* number) {
  if (PyBool_Check(number)) return number == Py_True;
  return number_of(number);
}

bool is_number(PyObject* object) {
  return kind_of_number(object) != DType::Float32 || is_numpy_scalar(object);
}

HeldObject step_function(py::handle function, py::handle names,
                         py::handle context) {
  return held(py::make_tuple(function, names ? names : py::none(),
                             context ? context : py::none()));
}

py::object call_step(void* function, std::span<void* const> operands) {
  PyObject* const of = static_cast<PyObject*>(function);
  PyObject* const names = PyTuple_GET_ITEM(of, 1);
  PyObject* const given = PyTuple_GET_ITEM(of, 2);
  py::object context;
  if (given != Py_None) {  // a copy, which no other thread has entered
    context = py::reinterpret_steal<py::object>(PyContext_Copy(given));
    if (!context || PyContext_Enter(context.ptr()) != 0)
      throw py::error_already_set();
  }
  const std::size_t named = names == Py_None ? 0 : PyTuple_GET_SIZE(names);
  py::object made;
  {
    const WithoutLock to_others;  // it may be a function of users
    made = py::reinterpret_steal<py::object>(PyObject_Vectorcall(
        PyTuple_GET_ITEM(of, 0),
        reinterpret_cast<PyObject* const*>(operands.data()),
        operands.size() - named, named == 0 ? nullptr : names));
  }
  if (context) {
    const py::error_scope kept;
    PyContext_Exit(context.ptr());
  }
  return made;
}

StepResult step_result(const py::object& made) {
  using Kind = StepResult::Kind;
  if (const auto word = word_of(made.ptr()))
    return {Kind::Number, held(made), *word, scalar_from(made.ptr())};
  const bool are_numbers =
      PyTuple_CheckExact(made.ptr()) &&
      std::ranges::all_of(
          py::reinterpret_borrow<py::tuple>(made),
          [](py::handle item) { return is_number(item.ptr()); });
  return {are_numbers             ? Kind::Objects
          : is_number(made.ptr()) ? Kind::Other
                                  : Kind::None,
          held(made)};
}

StepResult result_of_error(const py::error_already_set& error) {
  // The error itself would keep the arrays of all functions that it passed.
  return {StepResult::Kind::Error,
          held(py::make_tuple(error.type(), py::str(error.value())))};
}

StepResult PythonObjects::compute(void* function,
                                  std::span<void* const> operands) const {
  if (const py::object made = call_step(function, operands))
    return step_result(made);
  const py::error_already_set error;
  if (!error.matches(PyExc_Exception)) throw error;
  return result_of_error(error);
}

}  // namespace gpuos::python
