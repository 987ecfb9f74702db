#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <memory>
#include <string>
#include <utility>

#include "jit_options.h"
#include "reading.h"
#include "registrations.h"
#include "runtime_object.h"
#include "session_object.h"

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
  py::class_<CellResult> type(module, "CellResult", "What one cell did.",
                              py::is_final(), plain_metaclass());
  type.attr("__module__") = "gpuos";
  forbid_new(type);
  type.def_readonly("cell", &CellResult::cell,
                    "'cell 3', or the name that it was given.")
      .def_readonly("defined", &CellResult::defined,
                    "'kernel foo', in the order of the cell.")
      .def_readonly("launches", &CellResult::launches,
                    "How many kernels it launched.")
      .def_readonly("log", &CellResult::log, "What the compiler said.")
      .def("__repr__", [](const CellResult& self) {
        std::string text = "gpuos.CellResult(" + self.cell + ":";
        for (const std::string& name : self.defined) text += " " + name + ",";
        return text + " " + std::to_string(self.launches) + " launches)";
      });
}

template <typename Type>
void register_definitions(Type& type) {
  type.def("run", &SessionObject::run,
           "Add the definitions of a cell, then run its launches.\n\n"
           "Waits for the launches that name no stream. On an error no\n"
           "definition is kept, unless host code has run: if that throws,\n"
           "definitions stay.\n\n"
           "Raises\n------\n"
           "CompileError, HostError, InvalidArgument, BackendUnavailable,\n"
           "CudaError",
           py::arg("text"), py::arg("name") = "")
      .def("run_file", &SessionObject::run_file,
           "Run a file as one cell of its name; it may include its\n"
           "neighbours.\n\n"
           "Raises\n------\n"
           "As run(); InvalidArgument if the file cannot be read.",
           py::arg("path"))
      .def("undo", &SessionObject::undo,
           "Take back the definitions of the last cell. False if there is "
           "none.")
      .def("bind", &SessionObject::bind,
           "Give launches names for arrays on the device and for numbers.")
      .def("unbind", &SessionObject::unbind, "Forget bound names.")
      .def("names", &SessionObject::names,
           "Functions, kernels and variables, sorted.")
      .def("stats", &SessionObject::stats,
           "Cells, and the units compiled, linked and loaded for them.")
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
  type.def("__getitem__", &SessionObject::item,
           "A kernel, or the value of a variable.", py::arg("name"))
      .def("__setitem__", &SessionObject::set_item, py::arg("name"),
           py::arg("value"))
      .def("kernel", &SessionObject::kernel,
           "The newest version of 'k', 'a::k', 'k(int)' or 'k<float>'.\n\n"
           "Parameters\n----------\n"
           "name : str\n"
           "follow : bool\n"
           "    The handle is the newest version of the name at each launch,\n"
           "    after undo() too. Else it keeps the version that it has.\n\n"
           "Raises\n------\n"
           "InvalidArgument, CompileError, BackendUnavailable, CudaError\n"
           "    With `follow` from the launch, too; InvalidArgument if the\n"
           "    newest takes other parameters than the first.",
           py::arg("name"), py::kw_only(), py::arg("follow") = false)
      .def("link", &SessionObject::link,
           "The CUBIN of a kernel, before it has the addresses of variables.",
           py::arg("kernel"))
      .def("address", address, "Of a variable's storage.", py::arg("name"))
      .def("nbytes", bytes, "Of a variable.", py::arg("name"))
      .def("read", &SessionObject::read,
           "A copy of a variable.\n\n"
           "Returns\n-------\nnumpy.ndarray, shape (n,)",
           py::arg("name"), py::arg("dtype"))
      .def("write", &SessionObject::write,
           "Set a variable. Lists and numbers become of its type; the bytes\n"
           "of anything else are copied.\n\n"
           "Raises\n------\nInvalidArgument\n"
           "    If `values` has not the size of the variable.",
           py::arg("name"), py::arg("values"))
      .def("operator", &SessionObject::make_operator,
           "Make an elementwise operator of a __device__ function.\n\n"
           "Parameters\n----------\n"
           "function : str\n"
           "name : str\n"
           "    Of the operator, that of the function if empty. An operator\n"
           "    of that name is replaced.\n"
           "params : sequence of str\n"
           "    Parameters of the function that are scalars, not inputs.\n\n"
           "Raises\n------\n"
           "InvalidArgument, CompileError, BackendUnavailable",
           py::arg("function"), py::arg("name") = "",
           py::arg("params") = py::tuple())
      .def("export_cubin", &SessionObject::export_cubin,
           "Everything as one CUBIN, in which each variable has its storage.");
}

}  // namespace

void register_session(py::module_& module) {
  register_cell(module);
  py::class_<SessionObject> type(
      module, "Session",
      "A CUDA C++ program that grows cell by cell.\n\n"
      "Later cells see earlier ones; what is defined again replaces the\n"
      "version before. Compiling and linking need no GPU.\n\n"
      "Parameters\n----------\n"
      "options : JitOptions or sequence of str\n"
      "include_dirs : sequence of str or path\n"
      "device : int\n\n"
      "Raises\n------\nInvalidArgument, BackendUnavailable",
      py::is_final(), plain_metaclass());
  type.attr("__module__") = "gpuos";
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
      "A session whose functions can become operators of this runtime.\n\n"
      "Parameters\n----------\n"
      "options : JitOptions or sequence of str\n"
      "include_dirs : sequence of str or path",
      py::arg("options") = py::none(), py::arg("include_dirs") = py::tuple());
}

}  // namespace gpuos::python
