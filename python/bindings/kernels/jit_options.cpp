#include "kernels/kernel_arguments.h"

#include <pybind11/pybind11.h>

#include <pybind11/stl.h>

#include <array>
#include <string>
#include <utility>

#include "convert/reading.h"
#include "gpuos/error.h"
#include "module/python_methods.h"
#include "module/registrations.h"

namespace py = pybind11;

namespace gpuos::python {
namespace {

constexpr std::array<std::pair<const char*, FastCompile>, 4> kLevels{
    {{"off", FastCompile::Off},
     {"min", FastCompile::Min},
     {"mid", FastCompile::Mid},
     {"max", FastCompile::Max}}};

FastCompile level_from(const std::string& name) {
  for (const auto& [known, level] : kLevels) {
    if (name == known) return level;
  }
  throw InvalidArgument(
      "JitOptions: fast_compile: expected 'off', 'min', 'mid' or 'max', got '" +
      name + "'");
}

const char* name_of(FastCompile level) {
  for (const auto& [name, known] : kLevels) {
    if (level == known) return name;
  }
  return "off";
}

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

std::unique_ptr<JitOptions> make_options(
    std::string standard, const py::object& defines,
    std::uint32_t max_registers, bool fast_math, bool line_info, bool debug,
    int optimization, const std::string& fast_compile, const py::object& extra,
    std::string arch, const py::object& include_dirs) {
  auto options = std::make_unique<JitOptions>();
  options->std = std::move(standard);
  for (const auto& [name, value] : pairs_of(defines, "JitOptions: defines"))
    options->defines.emplace_back(text_of(name, "JitOptions: defines"),
                                  macro_text(value));
  options->max_registers = max_registers;
  options->fast_math = fast_math;
  options->line_info = line_info;
  options->debug = debug;
  options->optimization = optimization;
  options->fast_compile = level_from(fast_compile);
  options->extra = texts_of(extra, "JitOptions: extra");
  options->arch = std::move(arch);
  options->include_dirs = folders_of(include_dirs, "JitOptions: include_dirs");
  return options;
}

py::dict defines_of(const JitOptions& options) {
  py::dict defines;
  for (const auto& [name, text] : options.defines)
    defines[py::str(name)] = py::str(text);
  return defines;
}

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
  const JitOptions defaults;
  auto type = add_class<JitOptions>(module, "JitOptions");
  type.def(py::init(&make_options), py::kw_only(),
           py::arg("std") = defaults.std, py::arg("defines") = py::dict(),
           py::arg("max_registers") = 0, py::arg("fast_math") = false,
           py::arg("line_info") = false, py::arg("debug") = false,
           py::arg("optimization") = defaults.optimization,
           py::arg("fast_compile") = "off", py::arg("extra") = py::tuple(),
           py::arg("arch") = "", py::arg("include_dirs") = py::tuple())
      .def_readonly("std", &JitOptions::std)
      .def_property_readonly("defines", &defines_of)
      .def_readonly("max_registers", &JitOptions::max_registers)
      .def_readonly("fast_math", &JitOptions::fast_math)
      .def_readonly("line_info", &JitOptions::line_info)
      .def_readonly("debug", &JitOptions::debug)
      .def_readonly("optimization", &JitOptions::optimization)
      .def_property_readonly(
          "fast_compile",
          [](const JitOptions& self) { return name_of(self.fast_compile); })
      .def_readonly("extra", &JitOptions::extra)
      .def_readonly("arch", &JitOptions::arch)
      .def_readonly("include_dirs", &JitOptions::include_dirs);
  add_repr(type);
}

}  // namespace gpuos::python
