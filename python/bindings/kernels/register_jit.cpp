#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <stop_token>
#include <string>
#include <utility>

#include "convert/reading.h"
#include "gpuos/error.h"
#include "gpuos/jit_module.h"
#include "gpuos/module_registry.h"
#include "kernels/kernel_arguments.h"
#include "module/python_methods.h"
#include "module/python_module.h"
#include "module/registrations.h"
#include "module/without_gil.h"
#include "runtime/waiting.h"

namespace py = pybind11;

namespace gpuos::python {
namespace {

std::string source_text(const py::object& source) {
  if (PyBytes_Check(source.ptr()) != 0)
    throw py::type_error(
        "source: expected CUDA C++ as a str, got bytes; what is compiled "
        "already is given as image=");
  return text_of(source, "source");
}

std::vector<std::string> names_from(const py::object& expressions) {
  if (PyUnicode_Check(expressions.ptr()) != 0)
    throw py::type_error(
        "name_expressions: expected a sequence, got str; one kernel of a "
        "module is JitModule(source)[" +
        py::repr(expressions).cast<std::string>() + "]");
  return texts_of(expressions, "name_expressions");
}

std::vector<JitHeader> headers_from(const py::object& headers) {
  std::vector<JitHeader> made;
  for (const auto& [name, text] : pairs_of(headers, "headers"))
    made.push_back({text_of(name, "headers"), text_of(text, "headers")});
  return made;
}

// Returns a module of an image. gpuos/compiling.py checks the arguments and
// reads the file, so a missing one raises FileNotFoundError.
template <typename... Arguments>
std::unique_ptr<JitModule> module_of_image(int device,
                                           const Arguments&... arguments) {
  const py::tuple origin =
      python_module("gpuos.compiling").attr("image_of")(arguments...);
  auto image = origin[0].cast<std::string>();
  std::string name = text_of(origin[1], "name");
  const WithoutGil no_gil;
  return std::make_unique<JitModule>(
      JitModule::from_image(std::move(image), std::move(name), device));
}

std::unique_ptr<JitModule> make_module(
    const py::object& source, const py::object& name_expressions,
    const py::object& headers, const py::object& include_dirs,
    const py::object& options, const py::object& path, const py::object& image,
    const py::object& name, int device, const std::stop_source* stop) {
  if (source.is_none() || !path.is_none() || !image.is_none())
    return module_of_image(device, source, path, image, name, name_expressions,
                           headers, include_dirs, options);
  JitSource made{.source = source_text(source),
                 .name_expressions = names_from(name_expressions),
                 .headers = headers_from(headers),
                 .include_dirs = folders_of(include_dirs, "include_dirs"),
                 .options = jit_options_from(options),
                 .name = name.is_none() ? "module.cu" : text_of(name, "name")};
  const std::stop_token token =
      stop == nullptr ? std::stop_token() : stop->get_token();
  return interruptible([&] {
    return std::make_unique<JitModule>(std::move(made), device, token);
  });
}

py::bytes read_bytes(const JitModule& module, const std::string& name) {
  std::string value;
  {
    const WithoutGil no_gil;
    value.resize(module.global_bytes(name));
    module.read(name, value.data(), value.size());
  }
  return value;
}

void write_bytes(const JitModule& module, const std::string& name,
                 const py::bytes& values) {
  const std::string_view bytes = values;
  const WithoutGil no_gil;
  module.write(name, bytes.data(), bytes.size());
}

std::uint64_t replace_source(JitModule& module, const py::object& source,
                             const py::object& keep,
                             const py::object& name_expressions,
                             const py::object& headers,
                             const py::object& include_dirs,
                             const py::object& options) {
  JitReplacement made{.source = source_text(source),
                      .keep = texts_of(keep, "keep")};
  if (!name_expressions.is_none())
    made.name_expressions = names_from(name_expressions);
  if (!headers.is_none()) made.headers = headers_from(headers);
  if (!include_dirs.is_none())
    made.include_dirs = folders_of(include_dirs, "include_dirs");
  if (!options.is_none()) made.options = jit_options_from(options);
  return interruptible([&] { return module.replace(std::move(made)); });
}

py::list modules() {
  const py::object info = python_module("gpuos.compiling").attr("ModuleInfo");
  py::list all;
  for (const ModuleInfo& one : ModuleRegistry::list()) {
    py::dict holders;
    for (const ModuleHolder& holder : one.holders)
      holders[py::str(holder.what)] = holder.count;
    all.append(info(one.name, one.device, one.bytes, holders));
  }
  return all;
}

}  // namespace

void register_jit(py::module_& module) {
  auto stop = add_class<std::stop_source>(module, "_StopSource", "gpuos._core");
  stop.def(py::init<>()).def("request", [](std::stop_source& self) {
    return self.request_stop();
  });
  register_jit_options(module);
  module.def("modules", &modules);
  module.def(
      "synchronize",
      [](const py::object& stream, int device) {
        const Stream named = stream_from(stream.ptr());
        interruptible([&] { synchronize(named, device); });
      },
      py::arg("stream") = py::none(), py::arg("device") = 0);
  auto type = add_class<JitModule>(module, "JitModule");
  type.def(py::init(&make_module), py::arg("source") = py::none(),
           py::arg("name_expressions") = py::tuple(),
           py::arg("headers") = py::dict(),
           py::arg("include_dirs") = py::tuple(),
           py::arg("options") = py::none(), py::kw_only(),
           py::arg("path") = py::none(), py::arg("image") = py::none(),
           py::arg("name") = py::none(), py::arg("device") = 0,
           py::arg("_stop") = py::none())
      .def("__getitem__", without_gil(&JitModule::kernel), py::arg("name"))
      .def("kernel", without_gil(&JitModule::kernel), py::arg("name"))
      .def("get_function", without_gil(&JitModule::kernel), py::arg("name"))
      .def(
          "global_address",
          [](const JitModule& self, const std::string& name) {
            return reinterpret_cast<std::uintptr_t>(self.global_address(name));
          },
          py::arg("name"))
      .def("global_bytes", &JitModule::global_bytes, py::arg("name"))
      .def("_read", &read_bytes)
      .def("_write", &write_bytes)
      .def("replace", &replace_source, py::arg("source"), py::kw_only(),
           py::arg("keep") = py::tuple(),
           py::arg("name_expressions") = py::none(),
           py::arg("headers") = py::none(),
           py::arg("include_dirs") = py::none(),
           py::arg("options") = py::none())
      .def_property_readonly("version", without_gil(&JitModule::version))
      .def_property_readonly(
          "image",
          [](const JitModule& self) {
            return py::bytes(without_gil(&JitModule::image)(self));
          })
      .def_property_readonly("log", without_gil(&JitModule::log))
      .def_property_readonly("arch", without_gil(&JitModule::arch))
      .def_property_readonly("name", &JitModule::name);
  add_python_methods(type, "gpuos.variables", "read write");
}

}  // namespace gpuos::python
