#pragma once

#include <pybind11/pybind11.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "gpuos/program_ops.h"
#include "module/errors.h"

namespace gpuos::python {

/// Returns whether Python repeats the object when it is multiplied by a number:
/// a list, a str, a deque.
inline bool is_repeated(PyObject* object) noexcept {
  const PySequenceMethods* methods = Py_TYPE(object)->tp_as_sequence;
  return methods != nullptr && methods->sq_repeat != nullptr;
}

/// Lists the names of NumPy's functions, by Python's numbers of comparisons.
inline constexpr const char* kComparisonNames[] = {
    "less", "less_equal", "equal", "not_equal", "greater", "greater_equal"};
static_assert(Py_LT == 0 && Py_LE == 1 && Py_EQ == 2 && Py_NE == 3 &&
              Py_GT == 4 && Py_GE == 5);

inline bool is_comparison(std::string_view name) {
  return std::ranges::find(kComparisonNames, name) !=
         std::end(kComparisonNames);
}

// This class makes Python's operators slots of a type. Python calls them
// without the cost of pybind11. The names serve code that looks for them.
//
// `Of` has these static functions of PyObject*: binary<Op>(x, y), unary<Op>(x),
// positive(x), divmod(x, y), matmul(x, y), power(x, y, modulus) and compare(x,
// y, operation). They return a new reference, or null with an error set.

struct BinarySlot {
  const char* name;
  const char* reflected;
  binaryfunc PyNumberMethods::* slot;
  binaryfunc function;
};
struct UnarySlot {
  const char* name;
  unaryfunc PyNumberMethods::* slot;
  unaryfunc function;
};
struct ComparisonName {
  const char* name;
  int operation;
};

template <typename Of>
class OperatorSlots {
  using N = PyNumberMethods;

 public:
  static constexpr BinarySlot kBinary[] = {
      {"__add__", "__radd__", &N::nb_add, Of::template binary<Op::Add>},
      {"__sub__", "__rsub__", &N::nb_subtract,
       Of::template binary<Op::Subtract>},
      {"__mul__", "__rmul__", &N::nb_multiply,
       Of::template binary<Op::Multiply>},
      {"__truediv__", "__rtruediv__", &N::nb_true_divide,
       Of::template binary<Op::Divide>},
      {"__floordiv__", "__rfloordiv__", &N::nb_floor_divide,
       Of::template binary<Op::FloorDivide>},
      {"__mod__", "__rmod__", &N::nb_remainder,
       Of::template binary<Op::Remainder>},
      {"__divmod__", "__rdivmod__", &N::nb_divmod, Of::divmod},
      {"__matmul__", "__rmatmul__", &N::nb_matrix_multiply, Of::matmul},
      {"__and__", "__rand__", &N::nb_and, Of::template binary<Op::BitwiseAnd>},
      {"__or__", "__ror__", &N::nb_or, Of::template binary<Op::BitwiseOr>},
      {"__xor__", "__rxor__", &N::nb_xor, Of::template binary<Op::BitwiseXor>},
      {"__lshift__", "__rlshift__", &N::nb_lshift,
       Of::template binary<Op::LeftShift>},
      {"__rshift__", "__rrshift__", &N::nb_rshift,
       Of::template binary<Op::RightShift>},
  };
  static constexpr UnarySlot kUnary[] = {
      {"__neg__", &N::nb_negative, Of::template unary<Op::Negative>},
      {"__pos__", &N::nb_positive, Of::positive},
      {"__abs__", &N::nb_absolute, Of::template unary<Op::Absolute>},
      {"__invert__", &N::nb_invert, Of::template unary<Op::Invert>},
  };
  static constexpr ComparisonName kComparisons[] = {
      {"__lt__", Py_LT}, {"__le__", Py_LE}, {"__gt__", Py_GT},
      {"__ge__", Py_GE}, {"__eq__", Py_EQ}, {"__ne__", Py_NE}};

  template <typename T>
  static void add_to(pybind11::class_<T>& type) {
    add_names(type);
    auto* object = reinterpret_cast<PyTypeObject*>(type.ptr());
    PyNumberMethods& number = *object->tp_as_number;
    for (const BinarySlot& op : kBinary) number.*op.slot = op.function;
    for (const UnarySlot& op : kUnary) number.*op.slot = op.function;
    number.nb_power = Of::power;
    object->tp_richcompare = Of::compare;
  }

 private:
  using Object = pybind11::object;

  static Object checked(PyObject* made) {
    if (made == nullptr) throw pybind11::error_already_set();
    return pybind11::reinterpret_steal<Object>(made);
  }

  template <typename T>
  static void add_names(pybind11::class_<T>& type) {
    for (const BinarySlot& op : kBinary) {
      type.def(op.name, [f = op.function](const Object& x, const Object& y) {
        return checked(f(x.ptr(), y.ptr()));
      });
      type.def(op.reflected,
               [f = op.function](const Object& x, const Object& y) {
                 return checked(f(y.ptr(), x.ptr()));
               });
    }
    for (const UnarySlot& op : kUnary)
      type.def(op.name, [f = op.function](const Object& x) {
        return checked(f(x.ptr()));
      });
    for (const ComparisonName& op : kComparisons)
      type.def(op.name, [how = op.operation](const Object& x, const Object& y) {
        return checked(Of::compare(x.ptr(), y.ptr(), how));
      });
    const auto pow = [](const Object& x, const Object& y,
                        const Object& modulus) {
      return checked(Of::power(x.ptr(), y.ptr(), modulus.ptr()));
    };
    const auto rpow = [pow](const Object& x, const Object& y,
                            const Object& modulus) {
      return pow(y, x, modulus);
    };
    namespace py = pybind11;
    type.def("__pow__", pow, py::arg("other"), py::arg("modulus") = py::none());
    type.def("__rpow__", rpow, py::arg("other"),
             py::arg("modulus") = py::none());
  }
};

}  // namespace gpuos::python
