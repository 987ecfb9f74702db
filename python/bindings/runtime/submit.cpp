// Runtime.submit() is a plain C method, because a call through pybind11 would
// cost more than all the rest.

#include <cstddef>
#include <optional>
#include <string>

#include "convert/arguments.h"
#include "convert/keywords.h"
#include "convert/reading.h"
#include "gpuos/error.h"
#include "gpuos/inline_vector.h"
#include "module/errors.h"
#include "module/pybind_objects.h"
#include "module/registrations.h"
#include "runtime/runtime_object.h"
#include "runtime/waiting.h"

namespace py = pybind11;

namespace gpuos::python {
namespace {

Ticket submit_one(RuntimeObject& runtime, PyObject* const* args,
                  std::size_t count, PyObject* names) {
  if (count == 0)
    throw py::type_error("submit: expected an operator, got no argument");
  runtime.run_deferred();
  runtime.drain();
  const OperatorPtr known = runtime.resolve(args[0]);
  const Keywords keywords(*known, args + count, names, count - 1, false);
  const char* name = known->op.name().c_str();
  if (keywords.out == nullptr) {
    throw InvalidArgument(std::string(name) +
                          ": expected out=, an array for the result, got none");
  }
  constexpr std::size_t kMaxInputs = kMaxArguments - 1;
  if (count - 1 > kMaxInputs) {
    throw InvalidArgument(std::string(name) + ": expected at most " +
                          std::to_string(kMaxInputs) + " inputs, got " +
                          std::to_string(count - 1));
  }
  Arguments arguments(runtime);
  InlineVector<TensorView, kMaxInputs> inputs;
  for (std::size_t i = 1; i < count; ++i)
    inputs.add([&] {
      return arguments.view(args[i], {name, static_cast<int>(i) - 1});
    });
  for (PyObject* named : keywords.inputs())
    inputs.add([&] {
      const auto index = static_cast<int>(inputs.view().size());
      return arguments.view(named, {name, index});
    });
  const TensorView out = arguments.out_view(keywords.out, {name, -1});
  const Stream stream = stream_from(keywords.stream);
  // Releasing the GIL and taking it again costs much compared with the rest. It
  // is done only for calls that may wait.
  std::optional<Ticket> queued = runtime.core().try_submit(
      keywords.target(), inputs.view(), out, keywords.params(), stream);
  if (!queued) {
    queued = interruptible([&] {
      return runtime.core().submit(keywords.target(), inputs.view(), out,
                                   keywords.params(), stream);
    });
  }
  const Ticket ticket = *queued;
  if (arguments.has_foreign()) arguments.keep_until(ticket);
  return ticket;
}

template <auto kSubmit>
PyObject* call(PyObject* self, PyObject* const* args, Py_ssize_t count,
               PyObject* names) noexcept {
  return guarded([&] {
    for (;;) {
      try {
        return make_ticket(kSubmit(runtime_of(self), args,
                                   static_cast<std::size_t>(count), names),
                           self);
      } catch (const Superseded&) {  // NOLINT(bugprone-empty-catch)
        // Another version came, and its parameters may be others.
      }
    }
  });
}

PyCFunction as_c_function(PyObject* (*function)(PyObject*, PyObject* const*,
                                                Py_ssize_t,
                                                PyObject*) noexcept) noexcept {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

PyMethodDef submit_method = {
    "submit", as_c_function(&call<submit_one>), METH_FASTCALL | METH_KEYWORDS,
    "submit($self, op, /, *inputs, out, stream=None, **params)\n--\n\n"};
PyMethodDef submit_many_method = {
    "submit_many", as_c_function(&call<submit_many>),
    METH_FASTCALL | METH_KEYWORDS,
    "submit_many($self, op, /, *columns, out=None, sizes=None, dtype=None, "
    "stream=None, **params)\n--\n\n"};

void add_method(PyMethodDef& method) {
  const auto descriptor = py::reinterpret_steal<py::object>(
      PyDescr_NewMethod(runtime_type, &method));
  if (!descriptor) throw py::error_already_set();
  py::setattr(py::handle(reinterpret_cast<PyObject*>(runtime_type)),
              method.ml_name, descriptor);
}

}  // namespace

void register_submit(py::module_& /*module*/) {
  add_method(submit_method);
  add_method(submit_many_method);
}

}  // namespace gpuos::python
