#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <memory>
#include <string>
#include <utility>

#include "convert/reading.h"
#include "kernels/kernel_arguments.h"
#include "module/registrations.h"
#include "runtime/runtime_object.h"
#include "sessions/session_object.h"

namespace py = pybind11;

namespace gpuos::python {
namespace {

std::unique_ptr<SessionObject> make_session(
    std::shared_ptr<RuntimeObject> runtime, int device,
    const py::object& options, const py::object& include_dirs) {
  SessionOptions made;
  made.device = device;
  made.jit = jit_options_from(options);
  made.include_dirs = folders_of(include_dirs, "include_dirs");
  return std::make_unique<SessionObject>(std::move(runtime), made);
}

void register_cell(py::module_& module) {
  auto type = add_result_class<CellResult>(module, "CellResult");
  type.def_readonly("cell", &CellResult::cell)
      .def_readonly("defined", &CellResult::defined)
      .def_readonly("launches", &CellResult::launches)
      .def_readonly("log", &CellResult::log)
      .def("__repr__", [](const CellResult& self) {
        std::string text = "gpuos.CellResult(" + self.cell + ":";
        for (const std::string& name : self.defined) text += " " + name + ",";
        return text + " " + std::to_string(self.launches) + " launches)";
      });
}

template <typename Type>
void register_definitions(Type& type) {
  type.def("run", &SessionObject::run, py::arg("text"), py::arg("name") = "")
      .def("run_file", &SessionObject::run_file, py::arg("path"))
      .def("undo", &SessionObject::undo)
      .def("bind", &SessionObject::bind)
      .def("unbind", &SessionObject::unbind)
      .def("names", &SessionObject::names)
      .def("stats", &SessionObject::stats)
      .def("__repr__", [](SessionObject& self) {
        std::string text;
        for (const auto& [name, count] : self.stats())
          text += (text.empty() ? "" : ", ") + std::string(py::str(name)) +
                  "=" + std::string(py::str(count));
        return "gpuos.Session(" + text + ")";
      });
}

template <typename Type>
void register_uses(Type& type) {
  const auto address = [](SessionObject& self, const std::string& name) {
    return reinterpret_cast<std::uintptr_t>(self.variable(name).data);
  };
  const auto bytes = [](SessionObject& self, const std::string& name) {
    return self.variable(name).bytes;
  };
  type.def("__getitem__", &SessionObject::item, py::arg("name"))
      .def("__setitem__", &SessionObject::set_item, py::arg("name"),
           py::arg("value"))
      .def("kernel", &SessionObject::kernel, py::arg("name"), py::kw_only(),
           py::arg("follow") = false)
      .def("link", &SessionObject::link, py::arg("kernel"))
      .def("address", address, py::arg("name"))
      .def("nbytes", bytes, py::arg("name"))
      .def("read", &SessionObject::read, py::arg("name"), py::arg("dtype"))
      .def("write", &SessionObject::write, py::arg("name"), py::arg("values"))
      .def("operator", &SessionObject::make_operator, py::arg("function"),
           py::arg("name") = "", py::arg("params") = py::tuple())
      .def("export_cubin", &SessionObject::export_cubin);
}

}  // namespace

void register_session(py::module_& module) {
  register_cell(module);
  auto type = add_class<SessionObject>(module, "Session");
  type.def(py::init([](const py::object& options,
                       const py::object& include_dirs, int device) {
             return make_session(nullptr, device, options, include_dirs);
           }),
           py::arg("options") = py::none(),
           py::arg("include_dirs") = py::tuple(), py::kw_only(),
           py::arg("device") = 0);
  register_definitions(type);
  register_uses(type);

  const py::handle runtime(reinterpret_cast<PyObject*>(runtime_type));
  runtime.attr("session") = py::cpp_function(
      [](std::shared_ptr<RuntimeObject> self, const py::object& options,
         const py::object& include_dirs) {
        return make_session(std::move(self), 0, options, include_dirs);
      },
      py::name("session"), py::is_method(runtime),
      py::arg("options") = py::none(), py::arg("include_dirs") = py::tuple());
}

}  // namespace gpuos::python
