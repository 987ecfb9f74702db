#include "sessions/session_object.h"

#include <pybind11/gil.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "convert/reading.h"
#include "gpuos/error.h"
#include "gpuos/session.h"
#include "kernels/kernel_arguments.h"
#include "module/pybind_objects.h"
#include "module/python_module.h"
#include "module/without_gil.h"
#include "runtime/runtime_object.h"
#include "runtime/waiting.h"
#include "sessions/variable_copies.h"

namespace py = pybind11;

namespace gpuos::python {
namespace {

struct HostType {
  std::string dtype;  // NumPy's; empty: not of numbers
  std::vector<py::ssize_t> shape;
  bool is_constant = false;
  bool is_string = false;
};

// Returns the names that compilers have.
const std::map<std::string, std::string>& dtypes() {
  static const std::map<std::string, std::string> known{
      {"bool", "bool"},
      {"char", "int8"},
      {"signed char", "int8"},
      {"unsigned char", "uint8"},
      {"short", "int16"},
      {"short int", "int16"},
      {"unsigned short", "uint16"},
      {"short unsigned int", "uint16"},
      {"int", "int32"},
      {"unsigned int", "uint32"},
      {"long", "int64"},
      {"long int", "int64"},
      {"unsigned long", "uint64"},
      {"long unsigned int", "uint64"},
      {"long long", "int64"},
      {"long long int", "int64"},
      {"unsigned long long", "uint64"},
      {"long long unsigned int", "uint64"},
      {"float", "float32"},
      {"double", "float64"}};
  return known;
}

// Reads "const int [3][2]" or "int (&)[3]".
HostType read_type(std::string text) {
  HostType type;
  for (const std::string_view reference : {"(&)", "(&&)"}) {
    const std::size_t at = text.find(reference);
    if (at != text.npos && text.substr(at + reference.size()).starts_with('['))
      text.erase(at, reference.size());
  }
  // The type of a device variable is a reference: "int (*&)(int)".
  if (const std::size_t at = text.find("(*&)("); at != text.npos)
    text.erase(at + 2, 1);
  while (text.ends_with('&') || text.ends_with(' ')) text.pop_back();
  const std::size_t open = text.find('[');
  if (open != text.npos && text.ends_with(']')) {
    for (std::size_t at = open; at < text.size(); at = text.find(']', at) + 1)
      type.shape.push_back(std::stoll(text.substr(at + 1)));
    text.resize(open);
    while (text.ends_with(' ')) text.pop_back();
  }
  if (text.starts_with("const ") && !text.ends_with('*')) {
    type.is_constant = true;
    text.erase(0, 6);
  }
  const auto found = dtypes().find(text);
  if (found != dtypes().end()) type.dtype = found->second;
  // Pointers are "int*" and "int (*)(int)".
  if (text.ends_with('*') || text.find("(*)(") != text.npos)
    type.dtype = "uint64";
  type.is_string =
      type.shape.empty() &&
      (text == "std::string" || text == "std::__cxx11::basic_string<char>" ||
       text == "std::basic_string<char>");
  return type;
}

[[noreturn]] void refuse(const std::string& name,
                         const HostVariableInfo& variable) {
  throw InvalidArgument("session: expected a variable of numbers, got " + name +
                        " of type " + variable.type +
                        "; read(name, dtype) copies its bytes");
}
// Returns the value of a variable, or of a copy of one. It is a number, a
// string, or a copy of an array of numbers. The value of a pointer is its
// address.
// Throws: InvalidArgument for another type.

py::object host_value(const std::string& name,
                      const HostVariableInfo& variable) {
  const HostType type = read_type(variable.type);
  if (type.is_string)
    return py::str(*static_cast<const std::string*>(variable.data));
  if (type.dtype.empty()) refuse(name, variable);
  const py::object numpy = python_module("numpy");
  const py::object flat = numpy.attr("frombuffer")(
      py::bytes(static_cast<const char*>(variable.data), variable.bytes),
      type.dtype);
  if (type.shape.empty()) return flat.attr("item")();
  return flat.attr("reshape")(py::cast(type.shape)).attr("copy")();
}
// Sets the value. Throws: InvalidArgument for another type or shape, or a
// constant.

void set_host_value(const std::string& name, const HostVariableInfo& variable,
                    const py::object& value) {
  const HostType type = read_type(variable.type);
  if (type.is_constant)
    throw InvalidArgument("session: expected a variable, got the constant " +
                          name);
  if (type.is_string) {
    if (!py::isinstance<py::str>(value))
      throw InvalidArgument("session: " + name + ": expected a str");
    *static_cast<std::string*>(variable.data) = value.cast<std::string>();
    return;
  }
  if (type.dtype.empty()) refuse(name, variable);
  const py::object numpy = python_module("numpy");
  const py::object given = numpy.attr("asarray")(value);
  const bool is_integer = type.dtype.find("int") != type.dtype.npos;
  const std::string kind = given.attr("dtype").attr("kind").cast<std::string>();
  // Among integers the value decides, because a literal has a sign and a
  // variable may have none.
  const bool fits =
      numpy.attr("can_cast")(given.attr("dtype"), type.dtype, "same_kind")
          .cast<bool>() ||
      (is_integer && (kind == "i" || kind == "u")) ||
      given.attr("size").cast<py::ssize_t>() == 0;
  const auto shape = given.attr("shape").cast<std::vector<py::ssize_t>>();
  if (!fits || shape != type.shape)
    throw InvalidArgument(
        "session: " + name + ": expected a value of type " + variable.type +
        ", got " + py::str(given.attr("dtype")).cast<std::string>() +
        " of shape " + py::str(given.attr("shape")).cast<std::string>());
  const py::object converted = given.attr("astype")(type.dtype);
  // An integer that does not fit becomes another number.
  if (is_integer && !numpy.attr("array_equal")(converted, given).cast<bool>())
    throw InvalidArgument("session: " + name +
                          ": expected a value that fits into " + variable.type +
                          ", got " + py::str(value).cast<std::string>());
  const py::bytes bytes = converted.attr("tobytes")();
  const std::string_view view = bytes;
  std::memcpy(variable.data, view.data(),
              std::min(view.size(), variable.bytes));
}

// Returns an owner of a Python object that C++ may release on any thread.
std::shared_ptr<const void> owner_of(const py::handle& value) {
  value.inc_ref();
  return {value.ptr(), [](PyObject* object) {
            if (Py_IsInitialized() == 0) return;
            const py::gil_scoped_acquire gil;
            Py_DECREF(object);
          }};
}

// Shows the output of host code in a notebook. Elsewhere it goes to the output
// of the process.
void run_in_notebook(const std::function<void()>& work) {
  py::object output;
  {
    const py::gil_scoped_acquire gil;
    output = python_module("gpuos.cell_output").attr("begin")();
    if (output.is_none()) output.release().dec_ref();
  }
  work();
  if (!output) return;
  const py::gil_scoped_acquire gil;
  const py::object shown = std::move(output);
  python_module("gpuos.cell_output").attr("end")(shown);
}

KernelArg argument_from(const std::string& name, const py::handle& value) {
  KernelArgs args;
  try {
    add_argument(args, value.ptr(), 0);
  } catch (const InvalidArgument& error) {
    std::string text = error.what();
    text.erase(0, std::min(text.find(": "), text.size()));
    throw InvalidArgument(name + text);
  }
  return args.values().front();
}

}  // namespace

SessionObject::SessionObject(std::shared_ptr<RuntimeObject> runtime,
                             const SessionOptions& options)
    : runtime_(std::move(runtime)) {
  const WithoutGil no_gil;
  session_ = runtime_ == nullptr
                 ? std::make_unique<Session>(options)
                 : std::make_unique<Session>(runtime_->core(), options);
  session_->around_host_code(run_in_notebook);
}

CellResult SessionObject::run(const std::string& text,
                              const std::string& name) {
  return interruptible([&] { return session_->run(text, name); });
}

CellResult SessionObject::run_file(const py::object& path) {
  const std::string name =
      python_module("os").attr("fsencode")(path).cast<std::string>();
  return interruptible([&] { return session_->run_file(name); });
}

bool SessionObject::undo() {
  const WithoutGil no_gil;
  return session_->undo();
}

void SessionObject::bind(const py::kwargs& values) {
  for (const auto& [key, value] : values) {
    const std::string name = text_of(key, "bind");
    const KernelArg argument = argument_from(name, value);
    const std::shared_ptr<const void> owner = owner_of(value);
    const WithoutGil no_gil;
    session_->bind(name, argument, owner);
  }
}

void SessionObject::unbind(const py::args& names) {
  for (const py::handle name : names) {
    const std::string text = text_of(name, "unbind");
    const WithoutGil no_gil;
    session_->unbind(text);
  }
}

Kernel SessionObject::kernel(const std::string& name, bool follow) {
  return interruptible(
      [&] { return follow ? session_->follow(name) : session_->kernel(name); });
}

// Returns a variable of host code in place, or one of the device in `copy`.
// Data is null if there is neither.
HostVariableInfo SessionObject::find_variable(const std::string& name,
                                              std::string& copy) {
  return interruptible([&] {
    HostVariableInfo variable = session_->host_variable(name);
    if (variable.data != nullptr) return variable;
    variable.type = session_->variable_type(name);
    if (variable.type.empty()) return variable;
    copy.resize(session_->variable(name).bytes);
    session_->read(name, copy.data(), copy.size());
    variable.data = copy.data();
    variable.bytes = copy.size();
    return variable;
  });
}

py::object SessionObject::item(const std::string& name) {
  std::string copy;
  const HostVariableInfo variable = find_variable(name, copy);
  if (variable.data != nullptr) return host_value(name, variable);
  return py::cast(kernel(name, false));
}

void SessionObject::set_item(const std::string& name, const py::object& value) {
  std::string copy;
  const HostVariableInfo variable = find_variable(name, copy);
  if (variable.data == nullptr)
    throw InvalidArgument("session: expected the name of a variable, got '" +
                          name + "'");
  set_host_value(name, variable, value);
  if (variable.data != copy.data()) return;
  const WithoutGil no_gil;
  session_->write(name, copy.data(), copy.size());
}

py::bytes SessionObject::link(const std::string& kernel) {
  return interruptible([&] { return session_->link(kernel); });
}

SessionVariable SessionObject::variable(const std::string& name) {
  const WithoutGil no_gil;
  return session_->variable(name);
}

py::object SessionObject::read(const std::string& name,
                               const py::object& dtype) {
  return read_variable(
      dtype, [&] { return session_->variable(name).bytes; },
      [&](void* to, std::size_t bytes) { session_->read(name, to, bytes); });
}

void SessionObject::write(const std::string& name, const py::object& values) {
  // These values have no bytes of their own.
  PyObject* const given = values.ptr();
  if (PyList_Check(given) != 0 || PyTuple_Check(given) != 0 ||
      PyLong_Check(given) != 0 || PyFloat_CheckExact(given) != 0 ||
      PyComplex_CheckExact(given) != 0)
    return set_item(name, values);
  write_variable(values, [&](const void* from, std::size_t bytes) {
    session_->write(name, from, bytes);
  });
}

OperatorPtr SessionObject::make_operator(const std::string& function,
                                         const std::string& name,
                                         const py::object& params) {
  const std::vector<std::string> scalars = texts_of(params, "params");
  OperatorDefinition definition;
  Operator op;
  interruptible([&] {
    definition = session_->operator_definition(function, name, scalars);
    Runtime& runtime = runtime_->core();
    const std::vector<std::string> known = runtime.operator_names();
    if (std::ranges::find(known, definition.name) == known.end()) {
      op = runtime.define(definition);
    } else {
      op = runtime.find(definition.name);
      runtime.replace(op, definition);
    }
  });
  definition.code.reset();
  auto made = std::make_shared<OperatorObject>(runtime_.get(), op, definition);
  runtime_->remember(made);
  return made;
}

py::bytes SessionObject::export_cubin() {
  std::string image;
  {
    const WithoutGil no_gil;
    image = session_->export_cubin();
  }
  return {image};
}

std::vector<std::string> SessionObject::names() {
  const WithoutGil no_gil;
  return session_->names();
}

py::dict SessionObject::stats() {
  SessionStats stats;
  {
    const WithoutGil no_gil;
    stats = session_->stats();
  }
  py::dict all;
  all["cells"] = stats.cells;
  all["compiled"] = stats.compiled;
  all["linked"] = stats.linked;
  all["loaded"] = stats.loaded;
  return all;
}

}  // namespace gpuos::python
