#include "values/value_object.h"

#include <pybind11/numpy.h>

#include <cmath>
#include <complex>
#include <string>

#include "convert/array_view.h"
#include "convert/native.h"
#include "convert/numpy_dtype.h"
#include "convert/reading.h"
#include "gpuos/error.h"
#include "module/python_module.h"

namespace py = pybind11;

namespace gpuos::python {

PyTypeObject* value_type = nullptr;

namespace {

PyObject* numpy_generic() {
  return made_once([] {
    return py::object(python_module("numpy").attr("generic")).release().ptr();
  });
}

[[noreturn]] void refuse_operand(PyObject* object, std::string_view where) {
  const std::string got = type_text(object);
  const bool is_array = Py_TYPE(object)->tp_as_number == nullptr ||
                        has_attribute(object, "__dlpack__") ||
                        has_attribute(object, "__array_interface__");
  throw WrongType(
      std::string(where) +
      ": expected values of the fused function, numbers or NumPy scalars, "
      "got " +
      got + (is_array ? "; an array must be an argument of the function" : ""));
}

Operand strong_number(PyObject* object, const Value& like) {
  const Value number = literal_of(number_of(object), like);
  return ProgramBuilder::cast(number, dtype_of_scalar(object));
}

Operand operand_of(PyObject* object, const Value& like,
                   std::string_view where) {
  if (Py_TYPE(object) == value_type) return *native<Value>(object);
  if (PyBool_Check(object)) return object == Py_True;
  if (PyFloat_CheckExact(object) || PyLong_CheckExact(object) ||
      PyComplex_CheckExact(object))
    return number_of(object);
  if (is_numpy_scalar(object)) return strong_number(object, like);
  refuse_operand(object, where);
}

}  // namespace

py::object make_value(const Value& value) { return py::cast(value); }

// The class is no Exception, which the function may catch.
PyObject* number_asked() {
  return made_once([] {
    return PyErr_NewException("gpuos._core.NumberAsked", PyExc_BaseException,
                              nullptr);
  });
}

void ask_number(const Value& value) {
  if (!ProgramBuilder::ask_scalars(value)) return;
  PyErr_SetNone(number_asked());
  throw py::error_already_set();
}

const Value& value_of(PyObject* object, std::string_view where) {
  if (Py_TYPE(object) != value_type) {
    throw InvalidArgument(std::string(where) +
                          ": expected a value of a fused function, got " +
                          type_text(object));
  }
  return *native<Value>(object);
}

bool is_numpy_scalar(PyObject* object) {
  if (PyObject_TypeCheck(object,
                         reinterpret_cast<PyTypeObject*>(numpy_generic())))
    return true;
  return is_ndarray(object) && py::detail::array_proxy(object)->nd == 0;
}

namespace {

bool is_python_number(PyObject* object) noexcept {
  return PyFloat_CheckExact(object) || PyComplex_CheckExact(object) ||
         PyLong_Check(object);
}

}  // namespace

Scalar number_of(PyObject* number) {
  if (PyFloat_CheckExact(number)) return PyFloat_AS_DOUBLE(number);
  if (PyComplex_CheckExact(number)) {
    return std::complex<double>(PyComplex_RealAsDouble(number),
                                PyComplex_ImagAsDouble(number));
  }
  if (!PyLong_Check(number)) {
    const py::object item = py::handle(number).attr("item")();
    // A longdouble stays a longdouble, because Python has no such type.
    if (!is_python_number(item.ptr()))
      refuse_type("number", "a bool, an integer, a float or a complex number",
                  number);
    return number_of(item.ptr());
  }
  if (const auto integer = scalar_of_int(number)) return *integer;
  throw OutOfRange("number: expected an integer of int64 or uint64, got " +
                   kind_shown(number));
}

DType dtype_of_scalar(py::handle scalar) {
  return dtype_of(scalar.attr("dtype"));
}

bool is_too_wide(PyObject* object) {
  return PyLong_Check(object) && !scalar_of_int(object);
}

namespace {

// Returns the number that replaces an integer that no dtype has, next to
// `like`. Throws: OutOfRange, OverflowError.
py::object number_for_wide(PyObject* integer, const Value& like,
                           std::string_view where, bool is_comparison) {
  const bool is_exact = !is_floating(like.dtype()) &&
                        !is_complex(like.dtype()) && where != "divide" &&
                        where != "true_divide";
  if (is_exact && !is_comparison)
    throw OutOfRange(std::string(where) + ": expected a number that fits " +
                     std::string(name_of(like.dtype())) + ", got " +
                     kind_shown(integer));
  double number = is_exact ? INFINITY : PyLong_AsDouble(integer);
  if (PyErr_Occurred() != nullptr) {
    if (!is_comparison) throw py::error_already_set();
    PyErr_Clear();
    number = INFINITY;
  }
  // The number is beyond all values of `like`.
  if (std::isinf(number) && py::handle(integer) < py::int_(0)) number = -number;
  return py::float_(number);
}

}  // namespace

std::vector<Operand> operands_of(std::span<PyObject* const> objects,
                                 std::string_view where, bool is_comparison) {
  const Value* like = nullptr;
  for (PyObject* object : objects) {
    if (Py_TYPE(object) == value_type) like = native<Value>(object);
  }
  if (like == nullptr)
    throw InvalidArgument(std::string(where) +
                          ": expected a value of a fused function, got none");
  std::vector<Operand> operands;
  operands.reserve(objects.size());
  for (PyObject* object : objects) {
    py::object other;
    if (is_too_wide(object))
      other = number_for_wide(object, *like, where, is_comparison);
    operands.push_back(operand_of(other ? other.ptr() : object, *like, where));
  }
  return operands;
}

Axes axes_of(const py::object& axis) {
  if (axis.is_none()) return {};
  if (PyIndex_Check(axis.ptr()) != 0)
    return std::vector{integer_as<int>(axis, "axis")};
  std::vector<int> axes;
  for (const py::handle one : items_of(axis, "axis"))
    axes.push_back(integer_as<int>(one, "axis"));
  return axes;
}

Value positive(const Value& x) {
  if (x.dtype() == DType::Bool)
    throw WrongType("positive: expected numbers, got bool");
  return x;
}

py::object call_numpy(const char* name, const py::object& args,
                      const py::object& keywords) {
  return python_module("gpuos.numpy_functions")
      .attr("call")(python_module("numpy").attr(name), args, keywords);
}

}  // namespace gpuos::python
