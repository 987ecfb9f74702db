#include <pybind11/pybind11.h>

#include <memory>
#include <optional>

#include "convert/arguments.h"
#include "gpuos/bridge.h"
#include "module/registrations.h"
#include "runtime/runtime_object.h"

namespace py = pybind11;

namespace gpuos::python {
namespace {

using Owner = std::shared_ptr<RuntimeObject>;

py::capsule bridge_of(const Owner& runtime) {
  py::capsule capsule(&runtime->core(), kRuntimeCapsule, [](PyObject* ending) {
    delete static_cast<Owner*>(PyCapsule_GetContext(ending));
  });
  auto owner = std::make_unique<Owner>(runtime);
  if (PyCapsule_SetContext(capsule.ptr(), owner.get()) != 0)
    throw py::error_already_set();
  static_cast<void>(owner.release());
  return capsule;
}

std::shared_ptr<RuntimeObject> make_deterministic(
    std::shared_ptr<RuntimeObject> runtime) {
  runtime->core().make_deterministic();
  return runtime;
}

void watch_arrays(const py::capsule& capsule) {
  array_watch = static_cast<const ArrayWatch*>(
      PyCapsule_GetPointer(capsule.ptr(), kWatchCapsule));
  if (array_watch == nullptr) throw py::error_already_set();
}

// ---- These functions enter and leave a scheduler's block. Ctrl-C raises in
// Python's code, never in these functions. A block is therefore entered or left
// in one step.

py::object enter(const py::object& scheduler) {
  const py::object enter_now = scheduler.attr("_entering")();
  enter_now();
  return scheduler;
}

void leave(const py::object& scheduler, const py::object&,
           const py::object& error, const py::object&) {
  std::optional<py::error_already_set> raised;
  py::object leave_now;
  py::object left = py::none();
  try {
    leave_now = scheduler.attr("_leaving")();
  } catch (py::error_already_set& interrupt) {
    raised.emplace(interrupt);
    leave_now = scheduler.attr("_leaving")();
  }
  try {
    left = leave_now();
  } catch (py::error_already_set& failure) {
    raised.emplace(failure);
  }
  scheduler.attr("_left")(left, error);
  if (raised) throw py::error_already_set(*raised);
}

}  // namespace

void register_bridge(py::module_& module) {
  module.def("_bridge", &bridge_of, py::arg("runtime").none(false));
  module.def("_make_deterministic", &make_deterministic,
             py::arg("runtime").none(false));
  module.def(
      "_share",
      [](const std::shared_ptr<RuntimeObject>& runtime, bool is_shared) {
        runtime->is_shared = is_shared;
        return runtime;
      },
      py::arg("runtime").none(false), py::arg("is_shared") = true);
  module.def(
      "_has_captured",
      [](const std::shared_ptr<RuntimeObject>& runtime) {
        return runtime->core().has_captured();
      },
      py::arg("runtime").none(false));
  module.attr("_enter") =
      py::cpp_function(&enter, py::name("__enter__"), py::is_method(module));
  module.attr("_leave") =
      py::cpp_function(&leave, py::name("__exit__"), py::is_method(module));
  module.def("_watch_arrays", &watch_arrays, py::arg("watch"));
}

}  // namespace gpuos::python
