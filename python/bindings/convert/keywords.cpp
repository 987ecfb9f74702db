#include "convert/keywords.h"

#include <algorithm>
#include <bit>
#include <complex>
#include <memory>
#include <string>
#include <type_traits>

#include "convert/reading.h"
#include "gpuos/error.h"
#include "module/pybind_objects.h"
#include "module/python_module.h"

namespace py = pybind11;

namespace gpuos::python {

static_assert(std::is_trivially_destructible_v<Scalar>);

namespace {

// Returns whether the number is complex. NumPy's complex64 is no Python
// complex, and as a float it would lose a part.
bool is_complex_number(PyObject* number) {
  if (PyComplex_Check(number)) return true;
  PyObject* const numpy_type = made_once([] {
    return py::object(python_module("numpy").attr("complexfloating"))
        .release()
        .ptr();
  });
  return PyObject_TypeCheck(number,
                            reinterpret_cast<PyTypeObject*>(numpy_type)) != 0;
}

std::string known_names(const std::vector<Parameter>& params,
                        const std::vector<std::string>& inputs) {
  std::string text;
  for (const Parameter& param : params) text += " " + param.name;
  for (const std::string& name : inputs) text += " " + name;
  return text.empty() ? "it has none" : "it has" + text;
}

}  // namespace

const CallNames& call_names() {
  return made_once([] { return CallNames(); });
}

Scalar scalar_of(PyObject* number) {
  if (PyFloat_CheckExact(number)) return PyFloat_AS_DOUBLE(number);
  if (PyIndex_Check(number) != 0) {
    const auto whole =
        py::reinterpret_steal<py::object>(PyNumber_Index(number));
    if (!whole) throw py::error_already_set();
    if (const auto integer = scalar_of_int(whole.ptr())) return *integer;
  }
  if (is_complex_number(number)) {
    const Py_complex value = PyComplex_AsCComplex(number);
    if (PyErr_Occurred() != nullptr) throw py::error_already_set();
    return std::complex<double>(value.real, value.imag);
  }
  const double value = PyFloat_AsDouble(number);
  if (value == -1.0 && PyErr_Occurred() != nullptr)
    throw py::error_already_set();
  return value;
}

Keywords::Keywords(const OperatorObject& op, PyObject* const* values,
                   PyObject* names, std::size_t positional, bool is_many)
    : target_(&op.op) {
  const Py_ssize_t count = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
  const InputNames* inputs = nullptr;
  bool has_others = false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* name = PyTuple_GET_ITEM(names, i);
    if (take_own(name, values[i], is_many) || take_param(op, name, values[i]))
      continue;
    // This is read once, because an alias may mean another operator a moment
    // later.
    if (inputs == nullptr) inputs = &op.op.input_names();
    if (!take_input(op, *inputs, name, values[i], positional))
      has_others = true;
  }
  count_ = op.param_names.size();
  if (has_others || given_ != (std::uint64_t{1} << count_) - 1) [[unlikely]]
    add_defaults(op, values, names, is_many);
  if (inputs != nullptr && given_inputs_ != 0)
    check_inputs(op, *inputs, positional);
}

bool Keywords::take_own(PyObject* name, PyObject* value,
                        bool is_many) noexcept {
  const CallNames& known = call_names();
  if (is_name(name, known.out)) {
    out = value;
  } else if (is_name(name, known.stream)) {
    stream = value;
  } else if (is_many && is_name(name, known.sizes)) {
    sizes = value;
  } else if (is_many && is_name(name, known.dtype)) {
    dtype = value;
  } else {
    return false;
  }
  return true;
}

bool Keywords::take_param(const OperatorObject& op, PyObject* name,
                          PyObject* value) {
  for (std::size_t i = 0; i < op.param_names.size(); ++i) {
    if (!is_name(name, op.param_names[i].ptr())) continue;
    set_param(op, i, name, value);
    return true;
  }
  return false;
}

void Keywords::set_param(const OperatorObject& op, std::size_t index,
                         PyObject* name, PyObject* value) {
  static_assert(kMost < 64);
  if (PyNumber_Check(value) == 0)
    refuse_type((op.op.name() + ": " + shown(name)).c_str(), "a number", value);
  std::construct_at(reinterpret_cast<Scalar*>(storage_.data()) + index,
                    scalar_of(value));
  given_ |= std::uint64_t{1} << index;
}

bool Keywords::take_input(const OperatorObject& op, const InputNames& names,
                          PyObject* name, PyObject* value,
                          std::size_t positional) {
  // Names of inputs are ASCII.
  const auto found = std::ranges::find_if(names, [=](const std::string& input) {
    return PyUnicode_CompareWithASCIIString(name, input.c_str()) == 0;
  });
  if (found == names.end()) return false;
  const auto index = static_cast<std::size_t>(found - names.begin());
  if (index < positional)
    throw InvalidArgument(op.op.name() + ": expected the input '" + *found +
                          "' once, got it by its place and by its name");
  inputs_[index - positional] = value;
  given_inputs_ |= std::uint64_t{1} << (index - positional);
  return true;
}

// Takes the defaults of the current version, also if the name changes
// meanwhile.
void Keywords::add_defaults(const OperatorObject& op, PyObject* const* values,
                            PyObject* names, bool is_many) {
  pinned_ = op.op.pinned();
  target_ = &pinned_;
  const std::vector<Parameter>& params = pinned_.params();
  const InputNames& inputs = op.op.input_names();
  const auto is_input = [&](PyObject* name) {
    return std::ranges::any_of(inputs, [=](const std::string& input) {
      return PyUnicode_CompareWithASCIIString(name, input.c_str()) == 0;
    });
  };
  const Py_ssize_t given = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
  for (Py_ssize_t i = 0; i < given; ++i) {
    PyObject* const name = PyTuple_GET_ITEM(names, i);
    if (take_own(name, values[i], is_many) || is_input(name)) continue;
    const auto found =
        std::ranges::find_if(params, [=](const Parameter& param) {
          return PyUnicode_CompareWithASCIIString(name, param.name.c_str()) ==
                 0;
        });
    if (found == params.end())
      throw InvalidArgument(op.op.name() +
                            ": there is no parameter or input '" + shown(name) +
                            "'; " + known_names(params, pinned_.input_names()));
    set_param(op, static_cast<std::size_t>(found - params.begin()), name,
              values[i]);
  }
  if (given_ >> params.size() != 0)
    throw InvalidArgument(op.op.name() + ": there is no parameter '" +
                          shown(op.param_names[params.size()]) + "'; " +
                          known_names(params, pinned_.input_names()));
  count_ = params.size();
  for (std::size_t i = 0; i < count_; ++i) {
    if ((given_ >> i & 1) != 0) continue;
    if (!params[i].default_value)
      throw InvalidArgument(op.op.name() + ": expected the parameter " +
                            params[i].name + ", got none");
    std::construct_at(reinterpret_cast<Scalar*>(storage_.data()) + i,
                      *params[i].default_value);
  }
}

void Keywords::check_inputs(const OperatorObject& op, const InputNames& names,
                            std::size_t positional) {
  named_ = names.size() - positional;
  const auto first = static_cast<std::size_t>(std::countr_one(given_inputs_));
  if (first == named_) return;
  throw InvalidArgument(op.op.name() + ": expected the input '" +
                        names[positional + first] + "', got none");
}

}  // namespace gpuos::python
