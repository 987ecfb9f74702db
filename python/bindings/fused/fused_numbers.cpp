#include "fused/fused_numbers.h"

#include <algorithm>
#include <utility>

#include "convert/array_view.h"
#include "convert/native.h"
#include "gpuos/error.h"
#include "module/own_lock.h"
#include "module/python_module.h"
#include "values/value_object.h"

namespace py = pybind11;

namespace gpuos::python {
namespace {

// The list has the traced functions of all threads, because a function may pass
// its numbers to another thread.
std::vector<TracedNumbers*> all_traced;

bool is_number(PyObject* object) {
  return kind_of_number(object) != DType::Float32 || is_numpy_scalar(object);
}

bool is_tuple_of_numbers(PyObject* object) {
  if (PyTuple_CheckExact(object) == 0) return false;
  return std::ranges::all_of(
      py::reinterpret_borrow<py::tuple>(object),
      [](py::handle item) { return is_number(item.ptr()); });
}

// Returns whether the object may be an operand next to numbers. It then
// contains no values of the function.
bool is_plain(PyObject* object, int depth = 0) {
  if (depth > 4) return false;  // a list may hold itself
  if (PyTuple_CheckExact(object) == 0 && PyList_CheckExact(object) == 0)
    return is_number(object) || is_ndarray(object) ||
           (is_static(object) && PyTuple_Check(object) == 0);
  const auto all = py::reinterpret_borrow<py::sequence>(object);
  return std::ranges::all_of(
      all, [&](py::handle item) { return is_plain(item.ptr(), depth + 1); });
}

py::object form_of(const py::error_already_set& error) {
  return py::make_tuple(error.type(), py::str(error.value()));
}

// Returns the type and the text of the raised error. The error itself would
// keep the arrays of all functions that it passed.
py::object take_error() {
  if (PyErr_ExceptionMatches(PyExc_Exception) == 0)
    throw py::error_already_set();
  const py::error_already_set error;
  return form_of(error);
}

}  // namespace

py::object read_only(py::object number) {
  if (is_ndarray(number.ptr()))
    number.attr("setflags")(py::arg("write") = false);
  return number;
}

// ---- a call

py::object CallNumbers::result_of(const NumberCall& call) const {
  std::vector<PyObject*> operands;
  operands.reserve(call.operands.size());
  for (const NumberCall::Operand& each : call.operands)
    operands.push_back(each.constant ? each.constant.ptr()
                                     : numbers_[each.number].ptr());
  const std::size_t named = call.names ? py::len(call.names) : 0;
  py::object context;
  if (call.context) {  // a copy, which no other thread has entered
    context =
        py::reinterpret_steal<py::object>(PyContext_Copy(call.context.ptr()));
    if (!context || PyContext_Enter(context.ptr()) != 0)
      throw py::error_already_set();
  }
  py::object made;
  {
    const WithoutLock to_others;  // it may be a function of users
    made = py::reinterpret_steal<py::object>(
        PyObject_Vectorcall(call.function.ptr(), operands.data(),
                            operands.size() - named, call.names.ptr()));
  }
  if (context) {
    const py::error_scope kept;
    PyContext_Exit(context.ptr());
  }
  return made;
}

bool CallNumbers::compute(std::span<const NumberCall> calls) {
  for (const NumberCall& call : calls) {
    py::object made = result_of(call);
    const py::object error = made ? py::object() : take_error();
    Scalar scalar = 0.0;
    switch (call.gives) {
      case NumberCall::Gives::Error:
        if (!error || !error.equal(call.object)) return false;
        break;
      case NumberCall::Gives::Objects:
        if (!made || !is_tuple_of_numbers(made.ptr())) return false;
        break;
      case NumberCall::Gives::Number:
        if (!made || word_of(made.ptr()) != call.word) return false;
        scalar = scalar_from(made.ptr());
        break;
      case NumberCall::Gives::Same:
        if (!made || !is_same_number(made.ptr(), call.object.ptr()))
          return false;
        break;
    }
    add(std::move(made), scalar);
  }
  return true;
}

bool PythonSteps::compute(std::span<void* const> numbers,
                          std::vector<Scalar>& scalars) const {
  std::vector<py::object> arguments;
  for (void* number : numbers)
    arguments.push_back(
        py::reinterpret_borrow<py::object>(static_cast<PyObject*>(number)));
  CallNumbers all(std::move(arguments));
  if (!all.compute(calls_)) return false;
  scalars = all.scalars();
  return true;
}

void PythonSteps::add_deciding(std::size_t first,
                               AskedScalars& deciding) const {
  for (std::size_t i = calls_.size(); i-- > 0;) {
    const NumberCall& call = calls_[i];
    if (call.gives != NumberCall::Gives::Same &&
        !deciding.contains(static_cast<std::uint32_t>(first + i)))
      continue;
    for (const NumberCall::Operand& operand : call.operands)
      if (!operand.constant) deciding.insert(operand.number);
  }
}

// ---- a function that is traced

namespace {

py::object errstate_now() { return python_module("numpy").attr("geterr")(); }

}  // namespace

TracedNumbers::TracedNumbers(ProgramBuilder& builder,
                             std::vector<py::object> arguments,
                             AskedScalars asked, bool tells)
    : builder_(builder),
      asked_(std::move(asked)),
      numbers_(std::move(arguments)),
      tells_(tells),
      errstate_(errstate_now()) {
  all_traced.push_back(this);
}

TracedNumbers::~TracedNumbers() { std::erase(all_traced, this); }

py::object TracedNumbers::context() const {
  if (errstate_now().equal(errstate_)) return {};
  return python_module("contextvars").attr("copy_context")();
}

py::object TracedNumbers::next(const ArgumentWord& word, const Scalar& scalar) {
  return stand_for(word, scalar, numbers_[ids_.size()]);
}

py::object TracedNumbers::stand_for(const ArgumentWord& word,
                                    const Scalar& scalar,
                                    const py::object& number) {
  const Value value = gpuos::stand_for(builder_, word, scalar);
  const auto place = static_cast<std::uint32_t>(ids_.size());
  ids_.push_back(value.id());
  if (!asked_.contains(place)) return make_value(value);
  return is_ndarray(number.ptr()) ? py::object(number[py::tuple()]) : number;
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

std::optional<std::uint32_t> TracedNumbers::place_of(const Value& value) const {
  if (!builder_.makes(value)) return std::nullopt;
  const auto id = std::ranges::lower_bound(ids_, value.id());
  if (id == ids_.end() || *id != value.id()) return std::nullopt;
  const auto place = static_cast<std::uint32_t>(id - ids_.begin());
  // A given array takes part in computations like all arrays.
  const bool is_array = place < arguments_ && is_ndarray(numbers_[place].ptr());
  return is_array ? std::nullopt : std::optional(place);
}

std::optional<NumberCall::Operand> TracedNumbers::operand_of(
    PyObject* object) const {
  if (Py_TYPE(object) == value_type) {
    const auto place = place_of(*native<Value>(object));
    if (!place) return std::nullopt;
    return NumberCall::Operand{.number = *place};
  }
  if (!is_plain(object)) return std::nullopt;
  auto constant = py::reinterpret_borrow<py::object>(object);
  // The function may change the object later.
  if (!is_number(object) && !is_static(object))
    constant = python_module("copy").attr("deepcopy")(constant);
  return NumberCall::Operand{.constant = std::move(constant)};
}

py::object TracedNumbers::tell(const Value& value) {
  const auto place = tells_ ? place_of(value) : std::nullopt;
  if (!place) return {};
  if (*place < arguments_) {
    asked_.insert(*place);
  } else {
    NumberCall& call = calls_[*place - arguments_];
    call.gives = NumberCall::Gives::Same;
    call.object = numbers_[*place];
  }
  return numbers_[*place];
}

py::object TracedNumbers::type_of(const Value& value) const {
  const auto place = place_of(value);
  if (!place) return {};
  const py::object& number = numbers_[*place];
  // Scalars of one dtype share a program, also those of a derived class.
  const bool is_scalar =
      is_numpy_scalar(number.ptr()) && !is_ndarray(number.ptr());
  return is_scalar ? py::object(number.attr("dtype").attr("type"))
                   : py::object(py::type::of(number));
}

py::object TracedNumbers::result_of(NumberCall call, bool is_item) {
  py::object made = numbers_.result_of(call);
  // A thread that outlives the function may come here late.
  if (std::ranges::find(all_traced, this) == all_traced.end())
    throw InvalidArgument(
        "fuse: expected numbers of a function that is being traced, got one "
        "that has returned; join the threads that it starts");
  if (!made) {
    const py::error_already_set error;
    if (error.matches(PyExc_Exception)) {
      call.object = form_of(error);
      keep(std::move(call), {});
    }
    throw error;
  }
  if (!is_item && is_tuple_of_numbers(made.ptr())) {
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
  made = read_only(std::move(made));
  if (const auto word = word_of(made.ptr())) {
    call.gives = NumberCall::Gives::Number;
    call.word = *word;
  } else if (is_number(made.ptr())) {
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
  // Each result has a place in the program, so that all are counted alike.
  const ArgumentWord word =
      is_scalar
          ? call.word
          : ArgumentWord{.kind = ArgumentKind::Number, .dtype = DType::Float64};
  const Scalar scalar = is_scalar ? scalar_from(made.ptr()) : Scalar(0.0);
  numbers_.add(made, scalar);
  py::object value = stand_for(word, scalar, made);
  if (is_scalar && asked_.contains(place)) {
    call.gives = NumberCall::Gives::Same;
    call.object = made;
  }
  calls_.push_back(std::move(call));
  return is_scalar ? value : made;
}

namespace {

TracedNumbers* numbers_of(const Value& value) {
  const py::object object = make_value(value);
  PyObject* const one[] = {object.ptr()};
  return TracedNumbers::of(one);
}

}  // namespace

py::object tell_number(const Value& value) {
  TracedNumbers* const numbers = numbers_of(value);
  return numbers == nullptr ? py::object() : numbers->tell(value);
}

py::object type_of_number(const Value& value) {
  TracedNumbers* const numbers = numbers_of(value);
  return numbers == nullptr ? py::object() : numbers->type_of(value);
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
  call.context = numbers->context();
  return numbers->result_of(std::move(call), false);
}

py::object numbers_result(py::handle function, const py::object& args,
                          const py::object& keywords) {
  // These variables hold references, because the cast of another type makes a
  // new object.
  const auto given = args.cast<py::tuple>();
  const auto named = keywords.cast<py::dict>();
  std::vector<PyObject*> operands;
  for (const py::handle each : given) operands.push_back(each.ptr());
  py::list names;
  for (const auto& [name, value] : named) {
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
