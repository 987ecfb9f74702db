#include "fused_numbers.h"

#include <algorithm>
#include <utility>

#include "array_view.h"
#include "gpuos/error.h"
#include "native.h"
#include "python_module.h"
#include "value_object.h"

namespace py = pybind11;

namespace gpuos::python {
namespace {

// What this thread traces at this moment, inside one another.
thread_local std::vector<TracedNumbers*> all_traced;

// What a program takes as a scalar. None: no number, or too large an integer.
std::optional<ArgumentWord> word_of(PyObject* object) {
  if (const DType kind = kind_of_number(object); kind != DType::Float32) {
    int is_large = 0;
    if (kind == DType::Int64 &&
        PyLong_AsLongLongAndOverflow(object, &is_large) == -1 && is_large != 0)
      return std::nullopt;
    return ArgumentWord{.kind = ArgumentKind::Number, .dtype = kind};
  }
  if (!is_numpy_scalar(object)) return std::nullopt;
  try {
    return ArgumentWord{.kind = ArgumentKind::Scalar,
                        .dtype = dtype_of_scalar(object)};
  } catch (const InvalidArgument&) {  // a longdouble, a text
    return std::nullopt;
  }
}

bool is_number(PyObject* object) {
  return kind_of_number(object) != DType::Float32 || is_numpy_scalar(object);
}

bool is_same(const Scalar& a, const Scalar& b) {
  if (a.is_integer() != b.is_integer() || a.is_complex() != b.is_complex() ||
      a.is_above_int64() != b.is_above_int64())
    return false;
  if (a.is_integer()) return a.integer() == b.integer();
  const DType dtype = a.is_complex() ? DType::Complex128 : DType::Float64;
  return a.is_same_as(b, dtype);
}

// What may be beside numbers: nothing that has values of the function inside.
bool is_plain(PyObject* object) {
  if (PyTuple_CheckExact(object) == 0 && PyList_CheckExact(object) == 0)
    return is_number(object) || is_ndarray(object) ||
           (is_static(object) && PyTuple_Check(object) == 0);
  const auto all = py::reinterpret_borrow<py::sequence>(object);
  return std::ranges::all_of(
      all, [](py::handle item) { return is_plain(item.ptr()); });
}

}  // namespace

Scalar scalar_from(PyObject* number) {
  if (PyBool_Check(number)) return number == Py_True;
  return number_of(number);
}

bool is_same_number(PyObject* a, PyObject* b) {
  if (Py_TYPE(a) != Py_TYPE(b)) return false;
  if (word_of(a) && word_of(b)) return is_same(scalar_from(a), scalar_from(b));
  const int equal = PyObject_RichCompareBool(a, b, Py_EQ);
  if (equal < 0) throw py::error_already_set();
  return equal == 1;
}

// ---- a call

py::object CallNumbers::result_of(const NumberCall& call) const {
  std::vector<PyObject*> operands;
  operands.reserve(call.operands.size());
  for (const NumberCall::Operand& each : call.operands)
    operands.push_back(each.constant ? each.constant.ptr()
                                     : numbers_[each.number].ptr());
  const std::size_t named = call.names ? py::len(call.names) : 0;
  return py::reinterpret_steal<py::object>(
      PyObject_Vectorcall(call.function.ptr(), operands.data(),
                          operands.size() - named, call.names.ptr()));
}

bool CallNumbers::compute(std::span<const NumberCall> calls) {
  for (const NumberCall& call : calls) {
    py::object made = result_of(call);
    const bool is_error = !made;
    if (is_error) {
      if (PyErr_ExceptionMatches(PyExc_Exception) == 0)
        throw py::error_already_set();
      PyErr_Clear();
    }
    Scalar scalar = 0.0;
    switch (call.gives) {
      case NumberCall::Gives::Error:
        if (!is_error) return false;
        break;
      case NumberCall::Gives::Objects:
        if (is_error || PyTuple_CheckExact(made.ptr()) == 0) return false;
        break;
      case NumberCall::Gives::Number:
        if (is_error || word_of(made.ptr()) != call.word) return false;
        scalar = scalar_from(made.ptr());
        break;
      case NumberCall::Gives::Same:
        if (is_error || !is_same_number(made.ptr(), call.object.ptr()))
          return false;
        break;
    }
    numbers_.push_back(std::move(made));
    scalars_.push_back(scalar);
  }
  return true;
}

// ---- a function that is traced

TracedNumbers::TracedNumbers(ProgramBuilder& builder,
                             std::vector<py::object> arguments,
                             const AskedScalars& asked)
    : builder_(builder), asked_(asked), numbers_(std::move(arguments)) {
  all_traced.push_back(this);
}

TracedNumbers::~TracedNumbers() { all_traced.pop_back(); }

py::object TracedNumbers::next(const ArgumentWord& word, const Scalar& scalar) {
  return stand_for(word, scalar, numbers_[ids_.size()]);
}

py::object TracedNumbers::stand_for(const ArgumentWord& word,
                                    const Scalar& scalar, PyObject* number) {
  // A bool gives way to every dtype, as an array of bools does.
  const bool is_weak =
      word.kind == ArgumentKind::Number && word.dtype != DType::Bool;
  const Value value =
      is_weak ? builder_.number(scalar) : builder_.scalar(word.dtype);
  const auto place = static_cast<std::uint32_t>(ids_.size());
  ids_.push_back(value.id());
  return asked_.contains(place) ? py::reinterpret_borrow<py::object>(number)
                                : make_value(value);
}

TracedNumbers* TracedNumbers::of(std::span<PyObject* const> operands) {
  const auto found = std::ranges::find(operands, value_type,
                                       [](PyObject* x) { return Py_TYPE(x); });
  if (found == operands.end()) return nullptr;
  const Value& value = *native<Value>(*found);
  if (value.rank() != 0) return nullptr;
  const auto traced =
      std::ranges::find_if(all_traced, [&](const TracedNumbers* numbers) {
        return numbers->builder_.makes(value);
      });
  return traced == all_traced.end() ? nullptr : *traced;
}

std::optional<NumberCall::Operand> TracedNumbers::operand_of(
    PyObject* object) const {
  if (Py_TYPE(object) != value_type) {
    if (!is_plain(object)) return std::nullopt;
    return NumberCall::Operand{.constant =
                                   py::reinterpret_borrow<py::object>(object)};
  }
  const Value& value = *native<Value>(object);
  if (!builder_.makes(value)) return std::nullopt;
  const auto id = std::ranges::find(ids_, value.id());
  if (id == ids_.end()) return std::nullopt;
  return NumberCall::Operand{.number =
                                 static_cast<std::uint32_t>(id - ids_.begin())};
}

py::object TracedNumbers::result_of(NumberCall call, bool is_item) {
  py::object made = numbers_.result_of(call);
  if (!made) {
    const py::error_already_set error;
    if (error.matches(PyExc_Exception)) keep(std::move(call), {});
    throw error;
  }
  if (PyTuple_CheckExact(made.ptr()) != 0 && !is_item) {
    const auto place = static_cast<std::uint32_t>(ids_.size());
    const auto count = py::len(made);
    call.gives = NumberCall::Gives::Objects;
    keep(std::move(call), made);
    py::tuple items(count);
    for (std::size_t i = 0; i < count; ++i) {
      NumberCall item{.function = python_module("operator").attr("getitem")};
      item.operands = {{.number = place}, {.constant = py::int_(i)}};
      items[i] = result_of(std::move(item), true);
    }
    return items;
  }
  if (const auto word = word_of(made.ptr())) {
    call.gives = NumberCall::Gives::Number;
    call.word = *word;
  } else if (is_number(made.ptr()) || is_item) {
    call.gives = NumberCall::Gives::Same;  // no program has it
    call.object = made;
  } else {
    return {};
  }
  return keep(std::move(call), made);
}

py::object TracedNumbers::keep(NumberCall call, py::object made) {
  const bool is_scalar = call.gives == NumberCall::Gives::Number;
  const auto place = static_cast<std::uint32_t>(ids_.size());
  // A place in the program for each, so that all are counted alike.
  const ArgumentWord word =
      is_scalar
          ? call.word
          : ArgumentWord{.kind = ArgumentKind::Number, .dtype = DType::Float64};
  const Scalar scalar = is_scalar ? scalar_from(made.ptr()) : Scalar(0.0);
  numbers_.add(made);
  py::object value = stand_for(word, scalar, made.ptr());
  if (is_scalar && asked_.contains(place)) {
    call.gives = NumberCall::Gives::Same;
    call.object = made;
  }
  calls_.push_back(std::move(call));
  return is_scalar ? value : made;
}

py::object number_result(py::handle function,
                         std::span<PyObject* const> operands,
                         py::handle names) {
  TracedNumbers* const numbers = TracedNumbers::of(operands);
  if (numbers == nullptr) return {};
  NumberCall call{.function = py::reinterpret_borrow<py::object>(function)};
  if (names) call.names = py::reinterpret_borrow<py::object>(names);
  for (PyObject* object : operands) {
    auto operand = numbers->operand_of(object);
    if (!operand) return {};
    call.operands.push_back(std::move(*operand));
  }
  return numbers->result_of(std::move(call), false);
}

py::object numbers_result(py::handle function, const py::object& args,
                          const py::object& keywords) {
  std::vector<PyObject*> operands;
  for (const py::handle each : args.cast<py::tuple>())
    operands.push_back(each.ptr());
  py::list names;
  for (const auto& [name, value] : keywords.cast<py::dict>()) {
    names.append(name);
    operands.push_back(value.ptr());
  }
  return number_result(function, operands,
                       names.empty() ? py::object() : py::tuple(names));
}

py::object operator_result(const char* name,
                           std::span<PyObject* const> operands) {
  if (TracedNumbers::of(operands) == nullptr) return {};
  return number_result(python_module("operator").attr(name), operands);
}

}  // namespace gpuos::python
