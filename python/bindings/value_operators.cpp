// The operators of gpuos.Value. A function of 140 operations is traced in some
// 50 us.
#include <vector>

#include "errors.h"
#include "operator_slots.h"
#include "value_object.h"

namespace py = pybind11;

namespace gpuos::python {
namespace {

template <typename Body>
PyObject* value_or_error(Body body) noexcept {
  return guarded([&] { return make_value(body()).release().ptr(); });
}

struct ValueOperators {
  template <Op kOp>
  static PyObject* binary(PyObject* x, PyObject* y) noexcept {
    return value_or_error([&] {
      return elementwise(kOp, operands_of({x, y}, info_of(kOp).name));
    });
  }

  template <Op kOp>
  static PyObject* unary(PyObject* x) noexcept {
    return value_or_error(
        [&] { return elementwise(kOp, {value_of(x, info_of(kOp).name)}); });
  }

  static PyObject* positive(PyObject* x) noexcept {
    return value_or_error(
        [&] { return gpuos::python::positive(value_of(x, "positive")); });
  }

  static PyObject* power(PyObject* x, PyObject* y, PyObject* modulus) noexcept {
    if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
    return binary<Op::Power>(x, y);
  }

  static PyObject* divmod(PyObject* x, PyObject* y) noexcept {
    return guarded([&] {
      const std::vector<Operand> xy = operands_of({x, y}, "divmod");
      return py::make_tuple(make_value(floor_divide(xy[0], xy[1])),
                            make_value(remainder(xy[0], xy[1])))
          .release()
          .ptr();
    });
  }

  static PyObject* matmul(PyObject* x, PyObject* y) noexcept {
    return guarded([&] {
      const py::tuple xy = py::make_tuple(py::handle(x), py::handle(y));
      return call_numpy("matmul", xy, py::dict()).release().ptr();
    });
  }

  static PyObject* compare(PyObject* x, PyObject* y, int operation) noexcept {
    return value_or_error([&]() -> Value {
      PyObject* const both[] = {x, y};
      const std::vector<Operand> xy = compared_operands_of(both, "comparison");
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
};

}  // namespace

void add_operators(py::class_<Value>& type) {
  OperatorSlots<ValueOperators>::add_to(type);
  reinterpret_cast<PyTypeObject*>(type.ptr())->tp_hash =
      PyObject_HashNotImplemented;
}

}  // namespace gpuos::python
