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
#include "convert/native.h"
#include "convert/numpy_dtype.h"
#include "convert/options.h"
#include "convert/reading.h"
#include "gpuos/error.h"
#include "module/python_methods.h"
#include "module/python_module.h"
#include "module/registrations.h"
#include "module/without_gil.h"
#include "runtime/definition.h"
#include "runtime/operator_object.h"
#include "runtime/runtime_object.h"
#include "runtime/ticket_object.h"
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

OperatorPtr define_new(RuntimeObject& self,
                       const OperatorDefinition& definition) {
  const Operator op =
      interruptible([&] { return self.core().define(definition); });
  auto made = std::make_shared<OperatorObject>(&self, op, definition);
  self.remember(made);
  return made;
}

// Returns null if no operator has this name, or if it does something else.
OperatorPtr find_same(RuntimeObject& self, const DefinitionObject& wanted) {
  try {
    OperatorPtr known = self.find(wanted.given.name);
    if (definition_of(known->op)->digest == wanted.digest) return known;
  } catch (const InvalidArgument&) {  // NOLINT(bugprone-empty-catch)
    // The name is unknown or built in.
  }
  return nullptr;
}

// Defines an operator. A definition that arrives twice, from two processes or
// two threads, is one operator.
OperatorPtr define_given(RuntimeObject& self, const DefinitionObject& wanted) {
  try {
    return define_new(self, wanted.given);
  } catch (const InvalidArgument&) {
    OperatorPtr known = find_same(self, wanted);
    if (known == nullptr) throw;
    return known;
  }
}

OperatorPtr define(RuntimeObject& self, py::object name,
                   const py::object& expression, const py::kwargs& keywords) {
  self.check_no_transaction("define");
  // An operator that was sent to another process is its definition.
  if (py::isinstance<OperatorObject>(name)) name = name.attr("definition");
  if (const DefinitionObject* given = as_definition(name)) {
    check_alone("define", expression, keywords);
    return define_given(self, *given);
  }
  OperatorDefinition base;
  base.name = text_of(name, "define: name");
  return define_new(self, definition_from(std::move(base), expression, keywords,
                                          "define", true));
}

std::vector<OperatorPtr> define_many(RuntimeObject& self,
                                     const py::object& given) {
  self.check_no_transaction("define_many");
  std::vector<OperatorDefinition> definitions;
  for (const py::handle one : items_of(given, "define_many"))
    definitions.push_back(definition_from_dict(
        py::reinterpret_borrow<py::object>(one), "define_many"));
  const std::vector<Operator> operators =
      interruptible([&] { return self.core().define_many(definitions); });
  std::vector<OperatorPtr> made;
  for (std::size_t i = 0; i < operators.size(); ++i) {
    made.push_back(
        std::make_shared<OperatorObject>(&self, operators[i], definitions[i]));
    self.remember(made.back());
  }
  return made;
}

std::uint64_t replace_operator(RuntimeObject& self, const py::object& op,
                               const py::object& expression,
                               const py::object& expected,
                               const py::kwargs& keywords) {
  self.check_no_transaction("replace");
  const OperatorPtr known = self.resolve(op.ptr());
  const OperatorDefinition definition =
      definition_from(known->definition, expression, keywords, "replace");
  const std::uint64_t version = version_from(expected, "replace: expected");
  return interruptible(
      [&] { return self.core().replace(known->op, definition, version); });
}

std::uint64_t roll_back(RuntimeObject& self, const py::object& op,
                        const py::object& to, const py::object& expected) {
  self.check_no_transaction("rollback");
  const OperatorPtr known = self.resolve(op.ptr());
  const std::uint64_t number = version_from(to, "rollback: to");
  const std::uint64_t version = version_from(expected, "rollback: expected");
  const WithoutGil no_gil;
  return self.core().rollback(known->op, number, version);
}

std::uint64_t restore(RuntimeObject& self, const py::object& op) {
  self.check_no_transaction("restore");
  const OperatorPtr known = self.resolve(op.ptr());
  const WithoutGil no_gil;
  return self.core().restore(known->op);
}

void undefine(RuntimeObject& self, const py::object& op) {
  self.check_no_transaction("undefine");
  const OperatorPtr target = self.resolve(op.ptr());
  {
    const WithoutGil no_gil;
    self.core().undefine(target->op);
  }
  self.forget(target->op.name());
}

std::shared_ptr<AliasObject> alias(const RuntimePtr& self,
                                   const std::string& name,
                                   const py::object& op) {
  self->check_no_transaction("alias");
  const OperatorPtr target = self->resolve(op.ptr());
  OperatorDefinition definition = target->definition;
  definition.name = name;
  auto made = std::make_shared<AliasObject>();
  {
    const WithoutGil no_gil;
    made->alias = self->core().alias(name, target->op);
  }
  made->runtime = self;
  made->as_operator = std::make_shared<OperatorObject>(
      self.get(), made->alias.as_operator(), std::move(definition));
  self->remember(made->as_operator);
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

py::dict stats(RuntimeObject& self) {
  self.run_deferred();
  Stats now;
  {
    const WithoutGil no_gil;
    now = self.core().stats();
  }
  return stats_to_dict(now);
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
void add_operators(Class& type) {
  const auto none = py::none();
  type.def("define", &define, py::arg("name"), py::arg("expression") = none)
      .def("replace", &replace_operator, py::arg("op"),
           py::arg("expression") = none, py::kw_only(),
           py::arg("expected") = none)
      .def("rollback", &roll_back, py::arg("op"), py::kw_only(),
           py::arg("to") = none, py::arg("expected") = none)
      .def("restore", &restore, py::arg("op"))
      .def("define_many", &define_many, py::arg("definitions"))
      .def("undefine", &undefine, py::arg("op"))
      .def("alias", &alias, py::arg("name"), py::arg("op"))
      .def("find", &RuntimeObject::find, py::arg("name"))
      .def("operators", [](const RuntimeObject& self) {
        const WithoutGil no_gil;
        return self.core().operator_names();
      });
}

template <typename Class>
void add_memory(Class& type) {
  type.def("array", &array, py::arg("source"), py::arg("dtype") = py::none())
      .def("empty", &empty, py::arg("shape"), py::arg("dtype") = "float32")
      .def("zeros", &zeros, py::arg("shape"), py::arg("dtype") = "float32");
  add_python_methods(type, "gpuos.runtime_methods",
                     "ones full zeros_like arange linspace fuse watch");
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
          py::arg("protocol"), py::pos_only())
      .def("_check_no_transaction", &RuntimeObject::check_no_transaction);
  add_repr(type);
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
  add_life(type);
  add_memory(type);
  add_operators(type);
  py::module_::import("gc")
      .attr("callbacks")
      .attr("append")(py::cpp_function(&note_collection));
  // Workers must end before the interpreter does.
  py::module_::import("atexit").attr("register")(
      py::cpp_function(&RuntimeObject::close_all));
}

}  // namespace gpuos::python
