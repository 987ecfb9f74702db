#pragma once

#include <algorithm>
#include <iterator>
#include <span>
#include <string_view>

#include "gpuos/program_ops.h"
#include "module/errors.h"
#include "module/pybind_objects.h"

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
struct TypeOperators {
  std::span<const BinarySlot> binary;
  std::span<const UnarySlot> unary;
  ternaryfunc power;
  richcmpfunc compare;
};

/// Adds the slots of a table and the names of Python's special methods.
void add_operator_slots(const pybind11::handle& type,
                        const TypeOperators& table);

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

  static void add_to(const pybind11::handle& type) {
    add_operator_slots(type, {kBinary, kUnary, Of::power, Of::compare});
  }
};

}  // namespace gpuos::python
