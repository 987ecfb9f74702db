// These are the operators and methods of gpuos.Array. Each is a fused function
// of one operation, which gpuos/arrays.py makes at its first use.

#include <string>
#include <string_view>
#include <utility>

#include "arrays/array.h"
#include "convert/array_view.h"
#include "convert/native.h"
#include "convert/reading.h"
#include "gpuos/error.h"
#include "module/operator_slots.h"
#include "module/python_methods.h"
#include "module/python_module.h"
#include "values/value_object.h"

namespace py = pybind11;

namespace gpuos::python {
namespace {

py::object function(const char* name) {
  return python_module("gpuos.arrays").attr(name);
}
bool is_number(PyObject* object) {
  return PyFloat_Check(object) || PyLong_Check(object) ||
         PyComplex_Check(object);
}

// Returns whether the array computes with the object. A value of a fused
// function has operators of its own. Python's own errors explain lists and
// strings.
bool is_operand(PyObject* object) {
  if (Py_TYPE(object) == array_type) return true;
  if (Py_TYPE(object) == value_type) return false;
  if (is_number(object)) return true;
  if (has_own_operations(object)) return false;
  const py::handle type(reinterpret_cast<PyObject*>(Py_TYPE(object)));
  return is_numpy_scalar(object) || py::hasattr(type, "__dlpack__") ||
         py::hasattr(type, "__array_interface__") ||
         py::hasattr(type, "__cuda_array_interface__");
}

// Returns the fused function of NumPy's function `name`. It lives as long as
// the process.
template <typename Tag>
PyObject* fused(std::string_view name) {
  static PyObject* kept = nullptr;
  if (kept == nullptr) kept = function("operation")(name).release().ptr();
  return kept;
}

template <Op kOp>
struct OfOp {};
struct OfDivmod {};
struct OfMatmul {};
struct OfPositive {};
struct OfGreater {};
struct OfGreaterEqual {};

bool has_axes(PyObject* object) {
  return Py_TYPE(object) == array_type &&
         native<Array>(object)->form().dims != 0;
}

void check_is_no_list(std::string_view name, PyObject* x, PyObject* y) {
  PyObject* const list = is_repeated(x) ? x : y;
  if (is_comparison(name) || !is_repeated(list) || !has_axes(x == list ? y : x))
    return;
  const bool is_text = PyUnicode_Check(list) || PyBytes_Check(list);
  throw py::type_error(
      std::string(name) + ": expected arrays and numbers as operands, got a " +
      kind_shown(list) + (is_text ? "" : "; np.array(x) makes an array of it"));
}

template <typename Tag>
PyObject* call(std::string_view name, PyObject* x, PyObject* y) noexcept {
  return guarded([&]() -> PyObject* {
    if (!is_operand(x) || !is_operand(y)) [[unlikely]] {
      check_is_no_list(name, x, y);
      Py_RETURN_NOTIMPLEMENTED;
    }
    PyObject* operands[] = {x, y};
    return PyObject_Vectorcall(fused<Tag>(name), operands, 2, nullptr);
  });
}

template <typename Tag>
PyObject* call(std::string_view name, PyObject* x) noexcept {
  return guarded([&]() -> PyObject* {
    return PyObject_Vectorcall(fused<Tag>(name), &x, 1, nullptr);
  });
}

// Returns whether an integer of Python fits into an integer dtype. Returns true
// for other dtypes.
bool fits(PyObject* number, DType dtype) noexcept {
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(number, &overflow);
  if (!is_integer(dtype)) return true;
  const auto bits = static_cast<int>(8 * size_of(dtype));
  const bool is_uint64 = bits == 64 && !is_signed(dtype);
  if (overflow != 0) {
    if (overflow < 0 || !is_uint64) return false;
    PyLong_AsUnsignedLongLong(number);
    const bool is_large = PyErr_Occurred() != nullptr;
    PyErr_Clear();
    return !is_large;
  }
  if (bits == 64) return value >= 0 || !is_uint64;
  const long long high = 1LL << (is_signed(dtype) ? bits - 1 : bits);
  return value < high && value >= (is_signed(dtype) ? -high : 0);
}

// Returns whether NumPy makes an array of the object for a comparison. Python
// would compare such objects by identity. Another type may have a comparison of
// its own.
bool is_data(PyObject* object) {
  const PyTypeObject* type = Py_TYPE(object);
  if (type == value_type || has_own_operations(object)) return false;
  for (const char* protocol : {"__array_ufunc__", "__array_priority__"})
    if (py::hasattr(py::type::of(object), protocol)) return false;
  return PySequence_Check(object) || PyNumber_Check(object) ||
         PyObject_CheckBuffer(object) || PyDict_Check(object) ||
         PyAnySet_Check(object) || object == Py_None ||
         type->tp_richcompare == PyBaseObject_Type.tp_richcompare ||
         py::hasattr(py::type::of(object), "__array__");
}

// Compares with a function of gpuos/arrays.py. compare_data() makes an array of
// y, and compare() puts a wide number into the text of the program.
PyObject* compare_by(const char* name, PyObject* x, PyObject* y,
                     int operation) noexcept {
  return guarded([&] {
    const WithoutLock to_others;
    return function(name)(kComparisonNames[operation], py::handle(x),
                          py::handle(y))
        .release()
        .ptr();
  });
}

struct ArrayOperators {
  template <Op kOp>
  static PyObject* binary(PyObject* x, PyObject* y) noexcept {
    return call<OfOp<kOp>>(info_of(kOp).name, x, y);
  }
  template <Op kOp>
  static PyObject* unary(PyObject* x) noexcept {
    return call<OfOp<kOp>>(info_of(kOp).name, x);
  }
  static PyObject* positive(PyObject* x) noexcept {
    return call<OfPositive>("positive", x);
  }
  static PyObject* divmod(PyObject* x, PyObject* y) noexcept {
    return call<OfDivmod>("divmod", x, y);
  }
  static PyObject* matmul(PyObject* x, PyObject* y) noexcept {
    return call<OfMatmul>("matmul", x, y);
  }
  static PyObject* power(PyObject* x, PyObject* y, PyObject* modulus) noexcept {
    if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
    if (!is_number(y) || Py_TYPE(x) != array_type)
      return binary<Op::Power>(x, y);
    // Some exponents use another function, as they do in a fused function.
    return guarded([&] {
      const WithoutLock to_others;
      return function("power")(py::handle(x), py::handle(y)).release().ptr();
    });
  }
  static PyObject* compare(PyObject* x, PyObject* y, int operation) noexcept {
    if (PyLong_CheckExact(y) && Py_TYPE(x) == array_type &&
        !fits(y, native<Array>(x)->form().dtype)) [[unlikely]]
      return compare_by("compare", x, y, operation);
    PyObject* const made = compare_operands(x, y, operation);
    if (made != Py_NotImplemented || Py_TYPE(x) != array_type || !is_data(y))
        [[likely]]
      return made;
    Py_DECREF(made);
    return compare_by("compare_data", x, y, operation);
  }
  static PyObject* compare_operands(PyObject* x, PyObject* y,
                                    int operation) noexcept {
    switch (operation) {
      case Py_LT:
        return binary<Op::Less>(x, y);
      case Py_LE:
        return binary<Op::LessEqual>(x, y);
      case Py_GT:
        return call<OfGreater>("greater", x, y);
      case Py_GE:
        return call<OfGreaterEqual>("greater_equal", x, y);
      case Py_EQ:
        return binary<Op::Equal>(x, y);
      default:
        return binary<Op::NotEqual>(x, y);
    }
  }
};

// Writes x += y into x, whatever the operator's own dtype is.
template <Op kOp>
PyObject* in_place(PyObject* x, PyObject* y) noexcept {
  return guarded([&]() -> PyObject* {
    // This does not return NotImplemented for known operands. Python would
    // compute x = x + y then, which has another class.
    const bool is_known = is_operand(y) || has_own_operations(y);
    if (Py_TYPE(x) != array_type || !is_known) Py_RETURN_NOTIMPLEMENTED;
    const WithoutLock to_others;
    return function("in_place")(info_of(kOp).name, py::handle(x), py::handle(y))
        .release()
        .ptr();
  });
}
// These methods take NumPy's arguments. gpuos/array_methods.py has their
// functions.
constexpr const char* kMethods =
    "all any argmax argmin astype clip conj conjugate copy cumprod cumsum "
    "diagonal dot fill flatten item max mean min prod ptp ravel repeat round "
    "squeeze std sum swapaxes tolist trace var";
// These methods raise an error that says what to call instead.
constexpr const char* kRefused =
    "argpartition argsort choose compress nonzero partition searchsorted sort "
    "take";
constexpr const char* kProtocols =
    "__array_ufunc__ __array_function__ __array_namespace__ __copy__ "
    "__dask_tokenize__ "
    "__deepcopy__ __delitem__ __reduce_ex__ __bool__ __complex__ __contains__ "
    "__float__ "
    "__format__ __imatmul__ __index__ __int__ __iter__ __round__ __setitem__ "
    "__repr__ __str__ to_device";
// NumPy's arrays have these attributes and gpuos's lack them. The memory
// belongs to a runtime, and tasks write there.
constexpr const char* kLacking =
    "base byteswap ctypes data dump dumps flags flat getfield itemset "
    "newbyteorder put resize setfield setflags tobytes tofile tostring view";

}  // namespace

py::object copied(const py::object& array) {
  struct OfCopy {};
  PyObject* made = call<OfCopy>("copy", array.ptr());
  if (made == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(made);
}

void fill_array_slots(PyHeapTypeObject* type) {
  fill_operator_slots<ArrayOperators>(type);
  PyNumberMethods& n = type->as_number;
  n.nb_inplace_add = in_place<Op::Add>;
  n.nb_inplace_subtract = in_place<Op::Subtract>;
  n.nb_inplace_multiply = in_place<Op::Multiply>;
  n.nb_inplace_true_divide = in_place<Op::Divide>;
  n.nb_inplace_floor_divide = in_place<Op::FloorDivide>;
  n.nb_inplace_remainder = in_place<Op::Remainder>;
  n.nb_inplace_power = [](PyObject* x, PyObject* y, PyObject* /*modulus*/) {
    return in_place<Op::Power>(x, y);
  };
  n.nb_inplace_and = in_place<Op::BitwiseAnd>;
  n.nb_inplace_or = in_place<Op::BitwiseOr>;
  n.nb_inplace_xor = in_place<Op::BitwiseXor>;
  n.nb_inplace_lshift = in_place<Op::LeftShift>;
  n.nb_inplace_rshift = in_place<Op::RightShift>;
}

void add_methods(const py::handle& type) {
  for (const char* names : {kMethods, kRefused, kProtocols})
    add_python_methods(type, "gpuos.array_methods", names);
  for (const char* names :
       {kLacking, "mT __array_interface__ __cuda_array_interface__"})
    add_python_properties(type, "gpuos.array_methods", names);
}

}  // namespace gpuos::python
