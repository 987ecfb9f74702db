// Binds the operators of gpuos.Value. A function of 140 operations is traced in
// some 50 us.
#include <pybind11/pybind11.h>

#include <utility>
#include <vector>

#include "convert/native.h"
#include "fused/fused_numbers.h"
#include "module/errors.h"
#include "module/operator_slots.h"
#include "values/value_object.h"

namespace py = pybind11;

namespace gpuos::python {
namespace {

// Returns the name in Python's module `operator`.
constexpr const char* python_name(Op op) {
  constexpr std::pair<Op, const char*> kNames[] = {
      {Op::Add, "add"},
      {Op::Subtract, "sub"},
      {Op::Multiply, "mul"},
      {Op::Divide, "truediv"},
      {Op::FloorDivide, "floordiv"},
      {Op::Remainder, "mod"},
      {Op::Power, "pow"},
      {Op::BitwiseAnd, "and_"},
      {Op::BitwiseOr, "or_"},
      {Op::BitwiseXor, "xor"},
      {Op::LeftShift, "lshift"},
      {Op::RightShift, "rshift"},
      {Op::Negative, "neg"},
      {Op::Absolute, "abs"},
      {Op::Invert, "invert"}};
  for (const auto& [known, name] : kNames)
    if (known == op) return name;
  return nullptr;
}

// Returns the result of Python for numbers alone, or else the result of `body`.
template <typename Body>
PyObject* value_or_error(const char* python_name,
                         std::initializer_list<PyObject*> operands,
                         Body body) noexcept {
  return guarded([&] {
    py::object made =
        operator_result(python_name, {operands.begin(), operands.end()});
    if (!made) made = make_value(body());
    return made.release().ptr();
  });
}

// Returns whether the operation is `x ** 2` of bools. NumPy computes this as
// int8, but no other power. A number therefore decides by being 2 or not.
bool is_square_of_bool(PyObject* x, PyObject* y) {
  if (Py_TYPE(x) != value_type || native<Value>(x)->dtype() != DType::Bool ||
      native<Value>(x)->is_weak())
    return false;
  const bool is_number = Py_TYPE(y) == value_type &&
                         native<Value>(y)->is_weak() &&
                         native<Value>(y)->dtype() == DType::Int64;
  return (is_number || PyLong_CheckExact(y)) &&
         py::handle(y).cast<py::object>().equal(py::int_(2));
}

bool is_traced_number(PyObject* object) {
  return Py_TYPE(object) == value_type &&
         type_of_number(*native<Value>(object));
}

struct ValueOperators {
  template <Op kOp>
  static PyObject* binary(PyObject* x, PyObject* y) noexcept {
    if constexpr (kOp == Op::Multiply) {
      if ((is_repeated(x) && is_traced_number(y)) ||
          (is_repeated(y) && is_traced_number(x)))
        Py_RETURN_NOTIMPLEMENTED;
    }
    return value_or_error(python_name(kOp), {x, y}, [&] {
      return elementwise(kOp, operands_of({x, y}, info_of(kOp).name));
    });
  }

  template <Op kOp>
  static PyObject* unary(PyObject* x) noexcept {
    return value_or_error(python_name(kOp), {x}, [&] {
      return elementwise(kOp, {value_of(x, info_of(kOp).name)});
    });
  }

  static PyObject* positive(PyObject* x) noexcept {
    return value_or_error("pos", {x}, [&] {
      return gpuos::python::positive(value_of(x, "positive"));
    });
  }

  static PyObject* power(PyObject* x, PyObject* y, PyObject* modulus) noexcept {
    if (modulus != Py_None) {
      return guarded([&] {
        PyObject* const all[] = {x, y, modulus};
        const py::object pow = py::module_::import("builtins").attr("pow");
        py::object made = number_result(pow, all);
        if (!made) made = py::reinterpret_borrow<py::object>(Py_NotImplemented);
        return made.release().ptr();
      });
    }
    return value_or_error("pow", {x, y}, [&] {
      if (is_square_of_bool(x, y)) return square(value_of(x, "power"));
      return elementwise(Op::Power, operands_of({x, y}, "power"));
    });
  }

  static PyObject* divmod(PyObject* x, PyObject* y) noexcept {
    return guarded([&] {
      PyObject* const both[] = {x, y};
      const py::object divmod = py::module_::import("builtins").attr("divmod");
      if (py::object made = number_result(divmod, both))
        return made.release().ptr();
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
    constexpr const char* kNames[] = {"lt", "le", "eq", "ne", "gt", "ge"};
    return value_or_error(kNames[operation], {x, y}, [&]() -> Value {
      PyObject* const both[] = {x, y};
      const std::vector<Operand> xy = operands_of(both, "comparison", true);
      using Compare = Value (*)(const Operand&, const Operand&);
      constexpr Compare kCompare[] = {less,      less_equal, equal,
                                      not_equal, greater,    greater_equal};
      return kCompare[operation](xy[0], xy[1]);
    });
  }
};

// Returns the hash. A number decides by its hash, and arrays have none.
Py_hash_t hash_of_number(PyObject* self) noexcept {
  Py_hash_t hash = -1;
  PyObject* const done = guarded([&]() -> PyObject* {
    const py::object number = tell_number(*native<Value>(self));
    hash = number ? PyObject_Hash(number.ptr())
                  : PyObject_HashNotImplemented(self);
    return nullptr;
  });
  static_cast<void>(done);
  return hash;
}

}  // namespace

void fill_value_slots(PyHeapTypeObject* type) {
  fill_operator_slots<ValueOperators>(type);
  type->ht_type.tp_hash = hash_of_number;
}

}  // namespace gpuos::python
