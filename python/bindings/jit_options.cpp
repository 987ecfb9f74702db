#include "jit_options.h"

#include <pybind11/pybind11.h>

#include <pybind11/stl.h>

#include <array>
#include <string>
#include <utility>

#include "gpuos/error.h"
#include "reading.h"
#include "registrations.h"

namespace py = pybind11;

namespace gpuos::python {
namespace {

constexpr std::array<std::pair<const char*, FastCompile>, 4> kLevels{
    {{"off", FastCompile::Off},
     {"min", FastCompile::Min},
     {"mid", FastCompile::Mid},
     {"max", FastCompile::Max}}};

constexpr const char* kFields[] = {
    "std",       "defines", "max_registers", "fast_math",
    "line_info", "debug",   "optimization",  "fast_compile",
    "extra",     "arch",    "include_dirs"};

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

// None and True are what -DNAME means.
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

// Returns Python that makes the same options. It has only those that differ
// from the defaults.
std::string text_of_options(const py::object& self) {
  const py::object plain = py::type::of(self)();
  std::string text;
  for (const char* name : kFields) {
    const py::object value = self.attr(name);
    if (value.equal(plain.attr(name))) continue;
    if (!text.empty()) text += ", ";
    text += std::string(name) + "=" + std::string(py::repr(value));
  }
  return "gpuos.JitOptions(" + text + ")";
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
  py::class_<JitOptions> type(
      module, "JitOptions",
      "How NVRTC compiles device code.\n\n"
      "Parameters\n----------\n"
      "std : str\n    'c++11' to 'c++23'.\n"
      "defines : dict\n    Macros: name to text; None and True mean 1.\n"
      "max_registers : int\n    Of a thread, 16 to 255; 0: no limit.\n"
      "fast_math : bool\n    Less exact division, square root and functions.\n"
      "line_info : bool\n    Source lines for profilers.\n"
      "debug : bool\n    Code for debuggers, unoptimised.\n"
      "optimization : int\n    Of the assembler, 0 to 3.\n"
      "fast_compile : str\n"
      "    'off', 'min', 'mid' or 'max': how much optimisation is left out to\n"
      "    be done sooner. Needs NVRTC 12.8.\n"
      "extra : sequence of str\n    More options of NVRTC.\n"
      "arch : str\n"
      "    'sm_90', or 'compute_90' for PTX. Empty: GPUOS_NVRTC_ARCH if it is\n"
      "    set, else the device's, else the newest that NVRTC knows.\n"
      "include_dirs : sequence of str or path\n"
      "    Folders of headers, searched after those of the module.",
      py::is_final(), plain_metaclass());
  type.attr("__module__") = "gpuos";
  type.def(py::init(&make_options), py::kw_only(),
           py::arg("std") = defaults.std, py::arg("defines") = py::dict(),
           py::arg("max_registers") = 0, py::arg("fast_math") = false,
           py::arg("line_info") = false, py::arg("debug") = false,
           py::arg("optimization") = defaults.optimization,
           py::arg("fast_compile") = "off", py::arg("extra") = py::tuple(),
           py::arg("arch") = "", py::arg("include_dirs") = py::tuple())
      .def_readonly("std", &JitOptions::std, "'c++11' to 'c++23'.")
      .def_property_readonly("defines", &defines_of, "Macros: name to text.")
      .def_readonly("max_registers", &JitOptions::max_registers,
                    "Of a thread; 0: no limit.")
      .def_readonly("fast_math", &JitOptions::fast_math,
                    "Less exact division, square root and functions.")
      .def_readonly("line_info", &JitOptions::line_info,
                    "Source lines for profilers.")
      .def_readonly("debug", &JitOptions::debug,
                    "Code for debuggers, unoptimised.")
      .def_readonly("optimization", &JitOptions::optimization,
                    "Of the assembler, 0 to 3.")
      .def_property_readonly(
          "fast_compile",
          [](const JitOptions& self) { return name_of(self.fast_compile); },
          "'off', 'min', 'mid' or 'max': what is left out to be sooner.")
      .def_readonly("extra", &JitOptions::extra, "More options of NVRTC.")
      .def_readonly("arch", &JitOptions::arch,
                    "'sm_90', or 'compute_90' for PTX; empty: the device's.")
      .def_readonly("include_dirs", &JitOptions::include_dirs,
                    "Folders of headers.")
      .def("__repr__", &text_of_options);
}

}  // namespace gpuos::python
