#include "entry/override_calls.h"

#include <chrono>
#include <cmath>

#include "entry/schema.h"
#include "flush/backoff.h"
#include "memory/next_tensors.h"
#include "planning/rows.h"
#include "pytorch/hooks.h"
#include "pytorch/keys.h"

namespace gpuos::bridge {
namespace {

constexpr double kExact = 9007199254740992.0;  // 2^53

/// Untaken calls before the overrides read the clock, and may retire.
/// Installing it with each scheduler would cost more: every change of a type
/// invalidates Python's method cache, and memory is freed.
constexpr int kPatience = 10'000;

/// The number of a thread's calls between two checks whether its schedulers may
/// begin to defer. They may not inside of modes that restore the keys they
/// found.
constexpr int kCallsAQuestion = 16;

using Clock = std::chrono::steady_clock;

// These are accessed under the GIL.
PyObject* retire = nullptr;
PyObject* join = nullptr;
int waiting_schedulers = 0;
int calls_in_vain = 0;
Clock::time_point last_use;
Clock::duration patience = std::chrono::seconds(10);
thread_local int calls_to_question = 0;

/// False: a Python error.
bool call(PyObject* callable) {
  PyObject* result = PyObject_CallNoArgs(callable);
  Py_XDECREF(result);
  return result != nullptr;
}

/// A tensor without gradients, or a Python number.
bool read_operand(PyObject* object, TorchOperand& operand) {
  if (is_ordinary(object)) {
    operand.tensor = &THPVariable_Unpack(object);
    return is_without_grad(*operand.tensor);
  }
  if (PyFloat_CheckExact(object)) {
    operand.number = PyFloat_AS_DOUBLE(object);
    return true;
  }
  if (!PyLong_CheckExact(object)) return false;
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(object, &overflow);
  operand.number = static_cast<std::int64_t>(number);
  return overflow == 0;
}

/// Reads one dimension or several. Returns false for anything else.
bool read_dims(PyObject* object, Dims& dims) {
  const auto read = [&](PyObject* one) {
    if (!PyLong_CheckExact(one)) return false;
    int overflow = 0;
    dims.push_back(PyLong_AsLongLongAndOverflow(one, &overflow));
    return overflow == 0;
  };
  if (!PyTuple_CheckExact(object)) return read(object);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i)
    if (!read(PyTuple_GET_ITEM(object, i))) return false;
  return true;
}

bool read_flag(PyObject* object, bool& flag) {
  flag = object == Py_True;
  return PyBool_Check(object);
}

/// PyTorch refuses a number in some of these.
bool takes_number(Function function) {
  return function != Function::Maximum && function != Function::Minimum;
}

bool is_named(PyObject* name, const char* text) {
  return PyUnicode_CompareWithASCIIString(name, text) == 0;
}

}  // namespace

bool read_number(PyObject* object, double& number) {
  if (PyFloat_CheckExact(object)) {
    number = PyFloat_AS_DOUBLE(object);
    return true;
  }
  if (!PyLong_CheckExact(object)) return false;
  number = PyLong_AsDouble(object);
  if (number == -1.0 && PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    return false;
  }
  return std::fabs(number) < kExact;
}

Tensor take_unary(const Elementwise& what, PyObject* self) {
  const Tensor& tensor = THPVariable_Unpack(self);
  next_tensors[0].come_to(tensor);
  if (!is_without_grad(tensor)) return {};
  return defer(what, tensor);
}

Tensor take_binary(const Elementwise& what, PyObject* self, PyObject* other,
                   bool is_reversed) {
  const Tensor& tensor = THPVariable_Unpack(self);
  fetch_storage(tensor, /*is_counted=*/true);
  next_tensors[0].come_to(tensor);
  double number = 0;
  if (is_ordinary(other)) {
    const Tensor& second = THPVariable_Unpack(other);
    fetch_storage(second, /*is_counted=*/true);
    next_tensors[1].come_to(second);
    if (is_reversed || !is_without_grad(tensor) || !is_without_grad(second))
      return {};
    return defer(what, tensor, second);
  }
  // PyTorch's parser decides how a whole number changes other dtypes.
  if (!is_without_grad(tensor) || !takes_number(what.function) ||
      !at::isFloatingType(tensor.scalar_type()) || !read_number(other, number))
    return {};
  return defer(what, tensor, number, is_reversed);
}

Tensor take_power(PyObject* self, PyObject* exponent) {
  double number = 0;
  if (!read_number(exponent, number)) return {};
  const at::ScalarType type = THPVariable_Unpack(self).scalar_type();
  if (const auto simpler = simpler_power(number, type))
    return take_unary({*simpler, Rule::Floating}, self);
  return take_binary({Function::Power, Rule::Floating}, self, exponent);
}

Tensor take_clamp(PyObject* self, PyObject* low, PyObject* high) {
  const Tensor& tensor = THPVariable_Unpack(self);
  double bounds[2];
  if (!at::isFloatingType(tensor.scalar_type()) || !is_without_grad(tensor) ||
      !read_number(low, bounds[0]) || !read_number(high, bounds[1]))
    return {};
  const TorchOperand operands[] = {
      {.tensor = &tensor}, {.number = bounds[0]}, {.number = bounds[1]}};
  return defer({Function::Clamp, Rule::Arithmetic}, operands);
}

Tensor take_where(PyObject* condition, PyObject* a, PyObject* b) {
  const Tensor& tensor = THPVariable_Unpack(condition);
  TorchOperand operands[] = {{.tensor = &tensor}, {}, {}};
  if (!is_without_grad(tensor) || !read_operand(a, operands[1]) ||
      !read_operand(b, operands[2]))
    return {};
  return defer({Function::Where, Rule::Select}, operands);
}

Tensor take_rows(Function function, PyObject* self, PyObject* const* arguments,
                 Py_ssize_t count, PyObject* names) {
  const Tensor& tensor = THPVariable_Unpack(self);
  const Py_ssize_t named = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
  PyObject* dim = count > 0 ? arguments[0] : nullptr;
  PyObject* keepdim = count > 1 ? arguments[1] : nullptr;
  if (count > 2 || !is_without_grad(tensor)) return {};
  for (Py_ssize_t i = 0; i < named; ++i) {
    PyObject* name = PyTuple_GET_ITEM(names, i);
    if (is_named(name, "dim") && dim == nullptr)
      dim = arguments[count + i];
    else if (is_named(name, "keepdim") && keepdim == nullptr)
      keepdim = arguments[count + i];
    else
      return {};
  }
  // Calls without dims have separate overloads with other names.
  if (dim == nullptr && keepdim != nullptr) return {};
  const bool is_softmax =
      function == Function::Softmax || function == Function::LogSoftmax;
  if (is_softmax &&
      (dim == nullptr || !PyLong_CheckExact(dim) || keepdim != nullptr ||
       tensor.dim() == 0 || !at::isFloatingType(tensor.scalar_type())))
    return {};
  RowArguments row;
  Dims dims;
  if (dim != nullptr && !read_dims(dim, dims)) return {};
  if (keepdim != nullptr && !read_flag(keepdim, row.keepdims)) return {};
  if (dim != nullptr) row.dims = at::IntArrayRef(dims);
  return defer_rows({function}, tensor, row);
}

bool look_around() {
  if (C10_UNLIKELY(waiting_schedulers != 0) && scheduler_depth == 0) {
    if (--calls_to_question > 0) return true;
    calls_to_question = kCallsAQuestion;
    return call(join);
  }
  if (scheduler_threads.load(std::memory_order_relaxed) != 0 ||
      waiting_schedulers != 0) {
    calls_in_vain = 0;
    return true;
  }
  if (++calls_in_vain < kPatience) return true;
  calls_in_vain = 0;
  if (Clock::now() - last_use < patience) return true;
  return call(retire);
}

void note_use() { last_use = Clock::now(); }

void retire_after(std::chrono::nanoseconds time) { patience = time; }

void retire_front_with(PyObject* callable) { retire = Py_NewRef(callable); }

void join_with(PyObject* callable) { join = Py_NewRef(callable); }

void await_schedulers(int count) { waiting_schedulers = count; }

}  // namespace gpuos::bridge
