// Binds gpuos.Session. gpuos/variables.py converts the values of its variables.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "convert/reading.h"
#include "gpuos/error.h"
#include "gpuos/session.h"
#include "kernels/kernel_arguments.h"
#include "module/python_methods.h"
#include "module/python_module.h"
#include "module/registrations.h"
#include "module/without_gil.h"
#include "runtime/runtime_object.h"
#include "runtime/waiting.h"

namespace py = pybind11;

namespace gpuos::python {
namespace {

using Name = const std::string&;

/// Implements Python's gpuos.Session: a session and its runtime, or null.
struct SessionObject {
  std::shared_ptr<RuntimeObject> runtime;
  std::unique_ptr<Session> session;
};

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

std::unique_ptr<SessionObject> make_session(
    std::shared_ptr<RuntimeObject> runtime, int device,
    const py::object& options, const py::object& include_dirs) {
  SessionOptions asked;
  asked.device = device;
  asked.jit = jit_options_from(options);
  asked.include_dirs = folders_of(include_dirs, "include_dirs");
  auto made = std::make_unique<SessionObject>();
  made->runtime = std::move(runtime);
  const WithoutGil no_gil;
  made->session = made->runtime == nullptr
                      ? std::make_unique<Session>(asked)
                      : std::make_unique<Session>(made->runtime->core(), asked);
  made->session->around_host_code(run_in_notebook);
  return made;
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

KernelArg argument_from(Name name, const py::handle& value) {
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

void bind_values(SessionObject& self, const py::kwargs& values) {
  for (const auto& [key, value] : values) {
    const std::string name = text_of(key, "bind");
    const KernelArg argument = argument_from(name, value);
    const std::shared_ptr<const void> owner = owner_of(value);
    released([&] { self.session->bind(name, argument, owner); });
  }
}

void unbind(SessionObject& self, const py::args& names) {
  for (const py::handle name : names) {
    const std::string text = text_of(name, "unbind");
    released([&] { self.session->unbind(text); });
  }
}

py::object cell_result(const CellResult& result) {
  return python_module("gpuos.cell_output")
      .attr("CellResult")(result.cell, result.defined, result.launches,
                          result.log);
}

py::object run(SessionObject& self, Name text, Name name) {
  return cell_result(
      interruptible([&] { return self.session->run(text, name); }));
}

py::object run_file(SessionObject& self, const py::object& path) {
  const std::string name =
      python_module("os").attr("fsencode")(path).cast<std::string>();
  return cell_result(
      interruptible([&] { return self.session->run_file(name); }));
}

// Returns the type of a variable of host code or of the device, as C++ spells
// it, or an empty text if there is neither.
std::string type_of(SessionObject& self, Name name) {
  return interruptible([&] {
    const HostVariableInfo variable = self.session->host_variable(name);
    return variable.data != nullptr ? variable.type
                                    : self.session->variable_type(name);
  });
}

HostVariableInfo host_variable(SessionObject& self, Name name) {
  return released([&] { return self.session->host_variable(name); });
}

// Returns a function that calls `member` without the GIL.
template <typename Member>
auto without_gil(Member member) {
  return [member](SessionObject& self) {
    return released([&] { return ((*self.session).*member)(); });
  };
}

bool is_text(const HostVariableInfo& variable) {
  std::string_view type = variable.type;
  type.remove_suffix(type.size() - (type.find_last_not_of("& ") + 1));
  if (type.starts_with("const ")) type.remove_prefix(6);
  return variable.data != nullptr &&
         (type == "std::string" || type == "std::__cxx11::basic_string<char>" ||
          type == "std::basic_string<char>");
}

py::bytes read_bytes(SessionObject& self, Name name) {
  return released([&] {
    std::string value(self.session->variable(name).bytes, '\0');
    self.session->read(name, value.data(), value.size());
    return value;
  });
}

// Returns a str, or the bytes of another type.
py::object load(SessionObject& self, Name name) {
  const HostVariableInfo variable = host_variable(self, name);
  if (variable.data == nullptr) return read_bytes(self, name);
  if (is_text(variable))
    return py::str(*static_cast<const std::string*>(variable.data));
  return py::bytes(static_cast<const char*>(variable.data), variable.bytes);
}

void write_bytes(SessionObject& self, Name name, const py::bytes& value) {
  const std::string_view bytes = value;
  released([&] { self.session->write(name, bytes.data(), bytes.size()); });
}

void store(SessionObject& self, Name name, const py::object& value) {
  const HostVariableInfo variable = host_variable(self, name);
  if (variable.data == nullptr) return write_bytes(self, name, value);
  const auto given = value.cast<std::string>();
  if (is_text(variable))
    *static_cast<std::string*>(variable.data) = given;
  else
    std::memcpy(variable.data, given.data(),
                std::min(given.size(), variable.bytes));
}

OperatorPtr make_operator(SessionObject& self, Name function, Name name,
                          const py::object& params) {
  const std::vector<std::string> scalars = texts_of(params, "params");
  OperatorDefinition definition;
  Operator op;
  interruptible([&] {
    definition = self.session->operator_definition(function, name, scalars);
    Runtime& runtime = self.runtime->core();
    const std::vector<std::string> known = runtime.operator_names();
    if (std::ranges::find(known, definition.name) == known.end()) {
      op = runtime.define(definition);
    } else {
      op = runtime.find(definition.name);
      runtime.replace(op, definition);
    }
  });
  definition.code.reset();
  auto made =
      std::make_shared<OperatorObject>(self.runtime.get(), op, definition);
  self.runtime->remember(made);
  return made;
}

py::dict session_stats(SessionObject& self) {
  const SessionStats now = released([&] { return self.session->stats(); });
  py::dict all;
  all["cells"] = now.cells;
  all["compiled"] = now.compiled;
  all["linked"] = now.linked;
  all["loaded"] = now.loaded;
  return all;
}

template <typename Type>
void add_cells(Type& type) {
  type.def("run", &run, py::arg("text"), py::arg("name") = "")
      .def("run_file", &run_file, py::arg("path"))
      .def("undo", without_gil(&Session::undo))
      .def("bind", &bind_values)
      .def("unbind", &unbind)
      .def("names", without_gil(&Session::names))
      .def("stats", &session_stats);
}

template <typename Type>
void add_uses(Type& type) {
  const auto variable = [](SessionObject& self, Name name) {
    return released([&] { return self.session->variable(name); });
  };
  type.def(
          "kernel",
          [](SessionObject& self, Name name, bool follow) {
            return interruptible([&] {
              return follow ? self.session->follow(name)
                            : self.session->kernel(name);
            });
          },
          py::arg("name"), py::kw_only(), py::arg("follow") = false)
      .def(
          "link",
          [](SessionObject& self, Name kernel) {
            return py::bytes(
                interruptible([&] { return self.session->link(kernel); }));
          },
          py::arg("kernel"))
      .def(
          "address",
          [=](SessionObject& self, Name name) {
            return reinterpret_cast<std::uintptr_t>(variable(self, name).data);
          },
          py::arg("name"))
      .def(
          "nbytes",
          [=](SessionObject& self, Name name) {
            return variable(self, name).bytes;
          },
          py::arg("name"))
      .def("operator", &make_operator, py::arg("function"),
           py::arg("name") = "", py::arg("params") = py::tuple())
      .def("export_cubin",
           [](SessionObject& self) {
             return py::bytes(
                 released([&] { return self.session->export_cubin(); }));
           })
      .def("_type", &type_of)
      .def("_is_text",
           [](SessionObject& self, Name name) {
             return is_text(host_variable(self, name));
           })
      .def("_load", &load)
      .def("_store", &store)
      .def("_read", &read_bytes)
      .def("_write", &write_bytes);
  add_python_methods(type, "gpuos.variables",
                     "__getitem__ __setitem__ read write");
}

}  // namespace

void register_session(py::module_& module) {
  auto type = add_class<SessionObject>(module, "Session");
  type.def(py::init([](const py::object& options,
                       const py::object& include_dirs, int device) {
             return make_session(nullptr, device, options, include_dirs);
           }),
           py::arg("options") = py::none(),
           py::arg("include_dirs") = py::tuple(), py::kw_only(),
           py::arg("device") = 0);
  add_cells(type);
  add_uses(type);

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
