#include "host_values.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <vector>

#include "gpuos/error.h"
#include "python_module.h"

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

}  // namespace

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

}  // namespace gpuos::python
