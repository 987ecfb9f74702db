#include "fused/fused_numbers.h"

#include <algorithm>
#include <utility>

#include "convert/array_view.h"
#include "convert/native.h"
#include "gpuos/error.h"
#include "module/python_module.h"
#include "values/value_object.h"

namespace py = pybind11;

namespace gpuos::python {
namespace {

// The list has the traced functions of all threads, because a function may pass
// its numbers to another thread.
std::vector<PythonNumbers*> all_traced;

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

py::object errstate_now() { return python_module("numpy").attr("geterr")(); }

}  // namespace

PythonNumbers::PythonNumbers(ProgramBuilder& builder, TracedFunction& made,
                             bool tells)
    : builder_(builder),
      numbers_(builder, made),
      tells_(tells),
      errstate_(errstate_now()) {
  all_traced.push_back(this);
}

PythonNumbers::~PythonNumbers() { std::erase(all_traced, this); }

py::object PythonNumbers::context() const {
  if (errstate_now().equal(errstate_)) return {};
  return python_module("contextvars").attr("copy_context")();
}

py::object PythonNumbers::next(const ArgumentWord& word) {
  const auto place = static_cast<std::uint32_t>(numbers_.size());
  const Value value = numbers_.next(word);
  if (!numbers_.is_asked(place)) return make_value(value);
  py::object number = object_of(numbers_.number(place));
  return is_ndarray(number.ptr()) ? py::object(number[py::tuple()]) : number;
}

PythonNumbers* PythonNumbers::of(std::span<PyObject* const> operands) {
  const auto found = std::ranges::find(operands, value_type,
                                       [](PyObject* x) { return Py_TYPE(x); });
  if (found == operands.end()) return nullptr;
  const Value& value = *native<Value>(*found);
  if (value.rank() != 0) return nullptr;
  const auto traced =
      std::ranges::find_if(all_traced, [&](const PythonNumbers* numbers) {
        return numbers->builder_.makes(value);
      });
  return traced == all_traced.end() ? nullptr : *traced;
}

std::optional<NumberStep::Operand> PythonNumbers::operand_of(
    PyObject* object) const {
  if (Py_TYPE(object) == value_type) {
    const auto place = numbers_.place_of(*native<Value>(object));
    if (!place) return std::nullopt;
    return NumberStep::Operand{.number = *place};
  }
  if (!is_plain(object)) return std::nullopt;
  auto constant = py::reinterpret_borrow<py::object>(object);
  // The function may change the object later.
  if (!is_number(object) && !is_static(object))
    constant = python_module("copy").attr("deepcopy")(constant);
  return NumberStep::Operand{.constant = held(std::move(constant))};
}

py::object PythonNumbers::tell(const Value& value) {
  const auto place = tells_ ? numbers_.place_of(value) : std::nullopt;
  if (!place) return {};
  numbers_.decide(*place);
  return object_of(numbers_.number(*place));
}

py::object PythonNumbers::type_of(const Value& value) const {
  const auto place = numbers_.place_of(value);
  if (!place) return {};
  const py::object number = object_of(numbers_.number(*place));
  // Scalars of one dtype share a program, also those of a derived class.
  const bool is_scalar =
      is_numpy_scalar(number.ptr()) && !is_ndarray(number.ptr());
  return is_scalar ? py::object(number.attr("dtype").attr("type"))
                   : py::object(py::type::of(number));
}

py::object PythonNumbers::result_of(NumberStep step) {
  std::vector<void*> operands;
  for (const auto& [place, constant] : step.operands)
    operands.push_back((constant ? constant : numbers_.number(place)).get());
  py::object made = call_step(step.function.get(), operands);
  // A thread that outlives the function may come here late.
  if (std::ranges::find(all_traced, this) == all_traced.end())
    throw InvalidArgument(
        "fuse: expected numbers of a function that is being traced, got one "
        "that has returned; join the threads that it starts");
  if (!made) {
    const py::error_already_set error;
    if (error.matches(PyExc_Exception))
      numbers_.add(std::move(step), result_of_error(error));
    throw error;
  }
  if (is_ndarray(made.ptr()))  // it stays this number
    made.attr("setflags")(py::arg("write") = false);
  const StepResult result = step_result(made);
  const auto place = static_cast<std::uint32_t>(numbers_.size());
  if (result.kind == StepResult::Kind::None) return {};
  const Value value = numbers_.add(std::move(step), result);
  if (result.kind == StepResult::Kind::Number && !numbers_.is_asked(place))
    return make_value(value);
  if (result.kind != StepResult::Kind::Objects) return made;
  py::tuple items(py::len(made));
  for (std::size_t i = 0; i < items.size(); ++i) {
    NumberStep item{
        .function = step_function(python_module("operator").attr("getitem"))};
    item.operands = {{.number = place}, {.constant = held(py::int_(i))}};
    items[i] = result_of(std::move(item));
  }
  return items;
}

namespace {

PythonNumbers* numbers_of(const Value& value) {
  const py::object object = make_value(value);
  PyObject* const one[] = {object.ptr()};
  return PythonNumbers::of(one);
}

}  // namespace

py::object tell_number(const Value& value) {
  PythonNumbers* const numbers = numbers_of(value);
  return numbers == nullptr ? py::object() : numbers->tell(value);
}

py::object type_of_number(const Value& value) {
  PythonNumbers* const numbers = numbers_of(value);
  return numbers == nullptr ? py::object() : numbers->type_of(value);
}

py::object number_result(py::handle function,
                         std::span<PyObject* const> operands,
                         py::handle names) {
  PythonNumbers* const numbers = PythonNumbers::of(operands);
  if (numbers == nullptr) return {};
  NumberStep step{.function =
                      step_function(function, names, numbers->context())};
  for (PyObject* object : operands) {
    auto operand = numbers->operand_of(object);
    if (!operand) return {};
    step.operands.push_back(std::move(*operand));
  }
  return numbers->result_of(std::move(step));
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
  if (PythonNumbers::of(operands) == nullptr) return {};
  return number_result(python_module("operator").attr(name), operands);
}

}  // namespace gpuos::python
