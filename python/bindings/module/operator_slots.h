#pragma once

#include <algorithm>
#include <iterator>
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

/// Fills the slots of Python's operators before Python completes the type,
/// which then makes the special methods. Python calls slots without the cost of
/// pybind11.
///
/// `Of` has these static functions of PyObject*: binary<Op>(x, y),
/// unary<Op>(x), positive(x), divmod(x, y), matmul(x, y), power(x, y, modulus)
/// and compare(x, y, operation). They return a new reference, or null with an
/// error set.
template <typename Of>
void fill_operator_slots(PyHeapTypeObject* type) {
  PyNumberMethods& n = type->as_number;
  n.nb_add = Of::template binary<Op::Add>;
  n.nb_subtract = Of::template binary<Op::Subtract>;
  n.nb_multiply = Of::template binary<Op::Multiply>;
  n.nb_true_divide = Of::template binary<Op::Divide>;
  n.nb_floor_divide = Of::template binary<Op::FloorDivide>;
  n.nb_remainder = Of::template binary<Op::Remainder>;
  n.nb_divmod = Of::divmod;
  n.nb_matrix_multiply = Of::matmul;
  n.nb_power = Of::power;
  n.nb_and = Of::template binary<Op::BitwiseAnd>;
  n.nb_or = Of::template binary<Op::BitwiseOr>;
  n.nb_xor = Of::template binary<Op::BitwiseXor>;
  n.nb_lshift = Of::template binary<Op::LeftShift>;
  n.nb_rshift = Of::template binary<Op::RightShift>;
  n.nb_negative = Of::template unary<Op::Negative>;
  n.nb_positive = Of::positive;
  n.nb_absolute = Of::template unary<Op::Absolute>;
  n.nb_invert = Of::template unary<Op::Invert>;
  type->ht_type.tp_richcompare = Of::compare;
}

}  // namespace gpuos::python
