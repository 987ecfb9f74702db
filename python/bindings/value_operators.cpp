// The operators of gpuos.Value. Python calls the slots, without the price of
// pybind11: a function of 140 operations is traced in some 50 us. The names are
// there for whoever looks.
#include <pybind11/pybind11.h>

#include <vector>

#include "errors.h"
#include "native.h"
#include "value_object.h"

namespace py = pybind11;

namespace gpuos::python {
namespace {

template <typename Body>
PyObject* value_or_error(Body body) noexcept {
  return guarded([&] { return make_value(body()).release().ptr(); });
}

template <Op kOp>
PyObject* binary(PyObject* x, PyObject* y) noexcept {
  return value_or_error(
      [&] { return elementwise(kOp, operands_of({x, y}, info_of(kOp).name)); });
}

template <Op kOp>
PyObject* unary(PyObject* x) noexcept {
  return value_or_error(
      [&] { return elementwise(kOp, {value_of(x, info_of(kOp).name)}); });
}

PyObject* positive(PyObject* x) noexcept {
  return value_or_error(
      [&] { return gpuos::python::positive(value_of(x, "positive")); });
}

PyObject* power(PyObject* x, PyObject* y, PyObject* modulus) noexcept {
  if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return binary<Op::Power>(x, y);
}

PyObject* divide_both(PyObject* x, PyObject* y) noexcept {
  return guarded([&] {
    const std::vector<Operand> xy = operands_of({x, y}, "divmod");
    return py::make_tuple(make_value(floor_divide(xy[0], xy[1])),
                          make_value(remainder(xy[0], xy[1])))
        .release()
        .ptr();
  });
}

PyObject* compare(PyObject* x, PyObject* y, int operation) noexcept {
  return value_or_error([&]() -> Value {
    const std::vector<Operand> xy = operands_of({x, y}, "comparison");
    switch (operation) {
      case Py_LT:
        return less(xy[0], xy[1]);
      case Py_LE:
        return less_equal(xy[0], xy[1]);
      case Py_GT:
        return greater(xy[0], xy[1]);
      case Py_GE:
        return greater_equal(xy[0], xy[1]);
      case Py_EQ:
        return equal(xy[0], xy[1]);
      default:
        return not_equal(xy[0], xy[1]);
    }
  });
}

struct Binary {
  const char* name;
  const char* reflected;
  binaryfunc PyNumberMethods::* slot;
  binaryfunc function;
};

using N = PyNumberMethods;

constexpr Binary kBinary[] = {
    {"__add__", "__radd__", &N::nb_add, binary<Op::Add>},
    {"__sub__", "__rsub__", &N::nb_subtract, binary<Op::Subtract>},
    {"__mul__", "__rmul__", &N::nb_multiply, binary<Op::Multiply>},
    {"__truediv__", "__rtruediv__", &N::nb_true_divide, binary<Op::Divide>},
    {"__floordiv__", "__rfloordiv__", &N::nb_floor_divide,
     binary<Op::FloorDivide>},
    {"__mod__", "__rmod__", &N::nb_remainder, binary<Op::Remainder>},
    {"__divmod__", "__rdivmod__", &N::nb_divmod, divide_both},
    {"__and__", "__rand__", &N::nb_and, binary<Op::BitwiseAnd>},
    {"__or__", "__ror__", &N::nb_or, binary<Op::BitwiseOr>},
    {"__xor__", "__rxor__", &N::nb_xor, binary<Op::BitwiseXor>},
    {"__lshift__", "__rlshift__", &N::nb_lshift, binary<Op::LeftShift>},
    {"__rshift__", "__rrshift__", &N::nb_rshift, binary<Op::RightShift>},
};

struct Unary {
  const char* name;
  unaryfunc PyNumberMethods::* slot;
  unaryfunc function;
};

constexpr Unary kUnary[] = {
    {"__neg__", &N::nb_negative, unary<Op::Negative>},
    {"__pos__", &N::nb_positive, positive},
    {"__abs__", &N::nb_absolute, unary<Op::Absolute>},
    {"__invert__", &N::nb_invert, unary<Op::Invert>},
};

struct Comparison {
  const char* name;
  int operation;
};

constexpr Comparison kComparisons[] = {{"__lt__", Py_LT}, {"__le__", Py_LE},
                                       {"__gt__", Py_GT}, {"__ge__", Py_GE},
                                       {"__eq__", Py_EQ}, {"__ne__", Py_NE}};

py::object checked(PyObject* made) {
  if (made == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(made);
}

void add_names(py::class_<Value>& type) {
  for (const Binary& op : kBinary) {
    type.def(op.name,
             [f = op.function](const py::object& x, const py::object& y) {
               return checked(f(x.ptr(), y.ptr()));
             });
    type.def(op.reflected,
             [f = op.function](const py::object& x, const py::object& y) {
               return checked(f(y.ptr(), x.ptr()));
             });
  }
  for (const Unary& op : kUnary)
    type.def(op.name, [f = op.function](const py::object& x) {
      return checked(f(x.ptr()));
    });
  for (const Comparison& op : kComparisons)
    type.def(op.name,
             [how = op.operation](const py::object& x, const py::object& y) {
               return checked(compare(x.ptr(), y.ptr(), how));
             });
  const auto pow = [](const py::object& x, const py::object& y,
                      const py::object& modulus) {
    return checked(power(x.ptr(), y.ptr(), modulus.ptr()));
  };
  const auto rpow = [pow](const py::object& x, const py::object& y,
                          const py::object& modulus) {
    return pow(y, x, modulus);
  };
  type.def("__pow__", pow, py::arg("other"), py::arg("modulus") = py::none());
  type.def("__rpow__", rpow, py::arg("other"), py::arg("modulus") = py::none());
}

}  // namespace

void add_operators(py::class_<Value>& type) {
  add_names(type);
  auto* object = reinterpret_cast<PyTypeObject*>(type.ptr());
  PyNumberMethods& number = *object->tp_as_number;
  for (const Binary& op : kBinary) number.*op.slot = op.function;
  for (const Unary& op : kUnary) number.*op.slot = op.function;
  number.nb_power = power;
  object->tp_richcompare = compare;
  object->tp_hash = PyObject_HashNotImplemented;
}

}  // namespace gpuos::python
