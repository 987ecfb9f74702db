#include "kernels/kernel_arguments.h"

#include <pybind11/pybind11.h>

#include <pybind11/stl.h>

#include <memory>
#include <string>
#include <utility>

#include "convert/fields.h"
#include "convert/reading.h"
#include "gpuos/error.h"
#include "module/python_methods.h"
#include "module/registrations.h"

namespace py = pybind11;

namespace gpuos::python {

template <>
struct Words<FastCompile> {
  static constexpr std::pair<const char*, FastCompile> kAll[] = {
      {"off", FastCompile::Off},
      {"min", FastCompile::Min},
      {"mid", FastCompile::Mid},
      {"max", FastCompile::Max}};
};

namespace {

// Returns the text of a macro. None and True mean the same as -DNAME.
std::string macro_text(const py::handle& value) {
  constexpr char kWhat[] = "JitOptions: defines";
  if (value.is_none() || value.is(py::bool_(true))) return "1";
  if (value.is(py::bool_(false))) return "0";
  if (PyUnicode_Check(value.ptr())) return text_of(value, kWhat);
  if (PyIndex_Check(value.ptr()) == 0 && PyFloat_Check(value.ptr()) == 0)
    refuse_type(kWhat, "None, a bool, a number or a str as a value", value);
  return shown(value);
}

void set_defines(JitOptions& to, const std::string& what,
                 const py::object& given) {
  for (const auto& [name, value] : pairs_of(given, what.c_str()))
    to.defines.emplace_back(text_of(name, what.c_str()), macro_text(value));
}

py::object defines_of(const JitOptions& options) {
  py::dict defines;
  for (const auto& [name, text] : options.defines)
    defines[py::str(name)] = py::str(text);
  return defines;
}

void set_folders(JitOptions& to, const std::string& what,
                 const py::object& given) {
  to.include_dirs = folders_of(given, what.c_str());
}

// The order is that of the repr().
constexpr Field<JitOptions> kFields[] = {
    member_field<&JitOptions::std>("std"),
    {"defines", set_defines, defines_of},
    member_field<&JitOptions::max_registers>("max_registers"),
    member_field<&JitOptions::fast_math>("fast_math"),
    member_field<&JitOptions::line_info>("line_info"),
    member_field<&JitOptions::debug>("debug"),
    member_field<&JitOptions::optimization>("optimization"),
    member_field<&JitOptions::fast_compile>("fast_compile"),
    member_field<&JitOptions::extra>("extra"),
    member_field<&JitOptions::arch>("arch"),
    {"include_dirs", set_folders,
     [](const JitOptions& of) { return told(of.include_dirs); }},
};

}  // namespace

JitOptions jit_options_from(const py::object& options) {
  if (options.is_none()) return {};
  if (py::isinstance<JitOptions>(options)) return options.cast<JitOptions>();
  if (PyDict_Check(options.ptr()) != 0)
    refuse_type("options", "a JitOptions or a sequence of NVRTC's own options",
                options);
  return jit_options_of(texts_of(options, "options"));
}

void register_jit_options(py::module_& module) {
  auto type = add_class<JitOptions>(module, "JitOptions");
  type.def(py::init([](const py::kwargs& keywords) {
    auto made = std::make_unique<JitOptions>();
    set_fields<JitOptions>(*made, kFields, keywords, "JitOptions",
                           "JitOptions: ");
    return made;
  }));
  for (const Field<JitOptions>& each : kFields)
    type.def_property_readonly(
        each.name,
        [get = each.get](const JitOptions& self) { return get(self); });
}

}  // namespace gpuos::python
