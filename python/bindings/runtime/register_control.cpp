#include <pybind11/pybind11.h>

#include <string>

#include "convert/fields.h"
#include "module/registrations.h"
#include "module/without_gil.h"
#include "runtime/runtime_object.h"
#include "runtime/waiting.h"

namespace py = pybind11;

// gpuos.control watches from another thread. It leaves deferred operations of
// arrays, and failures, to the program.
namespace gpuos::python {
namespace {

py::dict live_runtimes() {
  py::dict all;
  for (const auto& runtime : RuntimeObject::live())
    all[py::int_(runtime->number)] = runtime;
  return all;
}

py::dict stats_now(const RuntimeObject& runtime) {
  Stats now;
  {
    const WithoutGil no_gil;
    now = runtime.core().stats();
  }
  return stats_to_dict(now);
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

}  // namespace

void register_control(py::module_& module) {
  module.def("_live_runtimes", &live_runtimes);
  module.def("_stats_now", &stats_now, py::arg("runtime").none(false));
  module.def("_wait_for_all", &wait_for_all, py::arg("runtime").none(false),
             py::arg("timeout"));
  module.def("_secure_variable", &secure_variable, py::arg("name"));
}

}  // namespace gpuos::python
