#include "module/operator_slots.h"

#include <pybind11/pybind11.h>

namespace py = pybind11;

namespace gpuos::python {
namespace {

using Object = const py::object&;

py::object checked(PyObject* made) {
  if (made == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(made);
}

template <typename Function, typename... Extra>
void add_named(py::object type, const char* name, Function function,
               const Extra&... extra) {
  // Like class_::def(), this makes a type with __eq__ unhashable.
  py::detail::add_class_method(
      type, name,
      py::cpp_function(function, py::name(name), py::is_method(type),
                       py::sibling(py::getattr(type, name, py::none())),
                       extra...));
}

void add_names(const py::object& type, const TypeOperators& table) {
  for (const BinarySlot& op : table.binary) {
    add_named(type, op.name, [f = op.function](Object x, Object y) {
      return checked(f(x.ptr(), y.ptr()));
    });
    add_named(type, op.reflected, [f = op.function](Object x, Object y) {
      return checked(f(y.ptr(), x.ptr()));
    });
  }
  for (const UnarySlot& op : table.unary)
    add_named(type, op.name,
              [f = op.function](Object x) { return checked(f(x.ptr())); });
  constexpr const char* kComparisons[] = {"__lt__", "__le__", "__eq__",
                                          "__ne__", "__gt__", "__ge__"};
  for (int how = Py_LT; how <= Py_GE; ++how)
    add_named(type, kComparisons[how],
              [f = table.compare, how](Object x, Object y) {
                return checked(f(x.ptr(), y.ptr(), how));
              });
  const auto modulus = py::arg_v("modulus", py::none());
  add_named(
      type, "__pow__",
      [f = table.power](Object x, Object y, Object z) {
        return checked(f(x.ptr(), y.ptr(), z.ptr()));
      },
      py::arg("other"), modulus);
  add_named(
      type, "__rpow__",
      [f = table.power](Object x, Object y, Object z) {
        return checked(f(y.ptr(), x.ptr(), z.ptr()));
      },
      py::arg("other"), modulus);
}

}  // namespace

void add_operator_slots(const py::handle& type, const TypeOperators& table) {
  add_names(py::reinterpret_borrow<py::object>(type), table);
  auto* object = reinterpret_cast<PyTypeObject*>(type.ptr());
  PyNumberMethods& number = *object->tp_as_number;
  for (const BinarySlot& op : table.binary) number.*op.slot = op.function;
  for (const UnarySlot& op : table.unary) number.*op.slot = op.function;
  number.nb_power = table.power;
  object->tp_richcompare = table.compare;
}

}  // namespace gpuos::python
