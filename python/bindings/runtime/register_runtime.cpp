#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <pybind11/numpy.h>
#include "arrays/array.h"
#include "convert/arguments.h"

#include "arrays/array_numpy.h"
#include "arrays/array_shape.h"
#include "convert/fields.h"
#include "convert/native.h"
#include "convert/numpy_dtype.h"
#include "convert/reading.h"
#include "gpuos/error.h"
#include "module/python_methods.h"
#include "module/python_module.h"
#include "module/registrations.h"
#include "module/without_gil.h"
#include "runtime/operator_object.h"
#include "runtime/runtime_object.h"
#include "runtime/waiting.h"

namespace py = pybind11;

namespace gpuos::python {

PyTypeObject* runtime_type = nullptr;

namespace {

using RuntimePtr = std::shared_ptr<RuntimeObject>;

// Returns null while the runtime is being made.
RuntimeObject* made_runtime(PyObject* self) noexcept {
  const auto* instance = reinterpret_cast<py::detail::instance*>(self);
  const bool is_laid_out = instance->simple_layout ||
                           instance->nonsimple.values_and_holders != nullptr;
  return is_laid_out ? native<RuntimeObject>(self) : nullptr;
}

int traverse_runtime(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  const RuntimeObject* runtime = made_runtime(self);
  if (runtime == nullptr) return 0;
  return runtime->visit_kept(
      [&](PyObject* object) { return visit(object, arg); });
}

int clear_runtime(PyObject* self) {
  if (RuntimeObject* runtime = made_runtime(self)) runtime->wait_and_let_go();
  return 0;
}

void collect_cycles(PyHeapTypeObject* type) {
  type->ht_type.tp_flags |= Py_TPFLAGS_HAVE_GC;
  type->ht_type.tp_traverse = traverse_runtime;
  type->ht_type.tp_clear = clear_runtime;
}

// Handles gc.callbacks. It ignores collections of young objects, which are too
// frequent. Without a GIL each collection counts as young and looks at all
// objects.
void note_collection(py::handle phase, py::handle info) {
#if defined(Py_GIL_DISABLED)
  constexpr int kFirst = 0;
#else
  constexpr int kFirst = 1;
#endif
  if (text_of(phase, "gc") == "start" &&
      info["generation"].cast<int>() >= kFirst)
    RuntimeObject::drain_all();
}

std::unique_ptr<Array> empty(RuntimeObject& self, const py::object& shape,
                             const py::object& dtype) {
  return Array::allocate(self, shape_from(shape), dtype_of(dtype));
}

std::unique_ptr<Array> zeros(RuntimeObject& self, const py::object& shape,
                             const py::object& dtype) {
  auto made = empty(self, shape, dtype);
  const Operator fill = self.find("fill")->op;
  const Scalar zero = 0;
  {
    const Borrow borrow(*made);
    interruptible([&] {
      return self.core().submit(fill, {}, borrow.words(), {&zero, 1});
    });
  }
  return made;
}

std::unique_ptr<Array> array(RuntimeObject& self, const py::object& source,
                             const py::object& dtype) {
  const py::object wanted =
      dtype.is_none() ? dtype : numpy_dtype(dtype_of(dtype));
  const py::object from = as_ndarray(source, wanted);
  auto made = empty(self, from.attr("shape"), from.attr("dtype"));
  copy_from(*made, from);
  return made;
}

void flush(RuntimeObject& self, const py::object& stream) {
  const Stream named = stream_from(stream.ptr());
  self.run_deferred();
  const WithoutGil no_gil;
  if (named.is_named) {
    self.core().flush(named);
  } else {
    self.core().flush();
  }
}

void wait(RuntimeObject& self, const py::object& ticket,
          const py::object& timeout) {
  self.wait(ticket_of(ticket.ptr()), Deadline::from_timeout(timeout, "wait"));
}

void synchronize(RuntimeObject& self, const py::object& timeout) {
  self.synchronize(Deadline::from_timeout(timeout, "synchronize"));
}

// ---- gpuos.control calls these from another thread. It leaves deferred
// operations of arrays, and failures, to the program.

py::dict live_runtimes() {
  py::dict all;
  for (const auto& runtime : RuntimeObject::live())
    all[py::int_(runtime->number)] = runtime;
  return all;
}

py::dict stats_now(const RuntimeObject& runtime) {
  return stats_to_dict(released([&] { return runtime.core().stats(); }));
}

bool wait_for_all(RuntimeObject& runtime, const py::object& timeout) {
  return runtime.wait_for_all(Deadline::from_timeout(timeout, "wait"));
}

// Returns a variable. A program that runs with other rights than its user's
// ignores the user's environment.
py::object secure_variable(const std::string& name) {
  const char* value = ::secure_getenv(name.c_str());
  if (value == nullptr) return py::none();
  return py::reinterpret_steal<py::object>(PyUnicode_DecodeFSDefault(value));
}

py::dict stats(RuntimeObject& self) {
  self.run_deferred();
  return stats_now(self);
}

// Starts the service before the runtime is made. Clients then see only complete
// runtimes.
void serve_if_asked() {
  if (::secure_getenv("GPUOS_CONTROL") != nullptr)
    python_module("gpuos.control").attr("_serve_environment")();
}

// Imports the modules of arrays and fused functions before a fork. The child of
// a fork in the middle of an import would wait for that import for ever.
void import_all() {
  fetch_numpy();
  for (const char* name :
       {"array_functions", "interop", "tracing", "pytrees", "value_methods"})
    python_module((std::string("gpuos.") + name).c_str());
}

template <typename Class>
void add_memory(Class& type) {
  type.def("array", &array, py::arg("source"), py::arg("dtype") = py::none())
      .def("empty", &empty, py::arg("shape"), py::arg("dtype") = "float32")
      .def("zeros", &zeros, py::arg("shape"), py::arg("dtype") = "float32");
}

template <typename Class>
void add_life(Class& type) {
  type.def(py::init([](const std::string& backend, int device,
                       const std::string& residency, py::kwargs all) {
             all["backend"] = backend;
             all["device"] = device;
             all["residency"] = residency;
             serve_if_asked();
             import_all();
             return std::make_shared<RuntimeObject>(options_from(all));
           }),
           py::arg("backend") = "auto", py::arg("device") = 0,
           py::arg("residency") = "auto")
      .def("wait", &wait, py::arg("ticket"), py::arg("timeout") = py::none())
      .def("synchronize", &synchronize, py::arg("timeout") = py::none())
      .def("flush", &flush, py::arg("stream") = py::none())
      .def("stats", &stats)
      .def("close",
           [](RuntimeObject& self) {
             if (self.is_shared)
               throw InvalidArgument(
                   "close: expected a runtime of your own, got the one that "
                   "this process shares, which stays until its end");
             self.close();
           })
      .def("__enter__", [](const py::object& self) { return self; })
      .def("__exit__",
           [](RuntimeObject& self, const py::object& error, const py::args&) {
             // In the child of a fork, the parent's block ends here too, and
             // the child does nothing.
             if (self.is_shared || self.process != ::getpid()) return;
             if (error.is_none())
               self.close();
             else
               self.leave(PyErr_GivenExceptionMatches(
                              error.ptr(), PyExc_KeyboardInterrupt) != 0);
           })
      .def_property_readonly("backend",
                             [](const RuntimeObject& self) {
                               return std::string(self.core().backend());
                             })
      .def_property_readonly(
          "is_closed",
          [](const RuntimeObject& self) { return self.core().is_closed(); })
      .def_property_readonly("options",
                             [](const RuntimeObject& self) {
                               return options_to_dict(self.core().options());
                             })
      .def(
          "__reduce_ex__",
          [](const RuntimeObject& /*self*/, int /*protocol*/) {
            return python_module("gpuos.sending").attr("refuse")("Runtime");
          },
          py::arg("protocol"), py::pos_only());
}

}  // namespace

void register_runtime(py::module_& module) {
  py::class_<RuntimeObject, RuntimePtr> type(
      module, "Runtime", py::custom_type_setup(collect_cycles));
  runtime_type = reinterpret_cast<PyTypeObject*>(type.ptr());
  type.attr("__module__") = "gpuos";
  module.def(
      "_is_shared",
      [](const RuntimeObject& runtime) { return runtime.is_shared; },
      py::arg("runtime"));
  module.def("_live_runtimes", &live_runtimes);
  module.def("_stats_now", &stats_now, py::arg("runtime").none(false));
  module.def("_wait_for_all", &wait_for_all, py::arg("runtime").none(false),
             py::arg("timeout"));
  module.def("_secure_variable", &secure_variable, py::arg("name"));
  add_life(type);
  add_memory(type);
  type.def("find", &RuntimeObject::find, py::arg("name"))
      .def("operators", [](const RuntimeObject& self) {
        const WithoutGil no_gil;
        return self.core().operator_names();
      });
  py::module_::import("gc")
      .attr("callbacks")
      .attr("append")(py::cpp_function(&note_collection));
  // Workers must end before the interpreter does.
  py::module_::import("atexit").attr("register")(
      py::cpp_function(&RuntimeObject::close_all));
}

}  // namespace gpuos::python
