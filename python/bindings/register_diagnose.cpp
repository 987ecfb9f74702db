#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "gpuos/diagnose.h"
#include "gpuos/version.h"
#include "registrations.h"
#include "without_gil.h"

namespace py = pybind11;

namespace gpuos::python {

void register_diagnose(py::module_& module) {
  module.attr("__version__") = version();

  py::class_<Finding> type(module, "Finding",
                           "One thing that gpuos looked for on this machine.",
                           py::is_final(), plain_metaclass());
  type.attr("__module__") = "gpuos";
  forbid_new(type);
  type.def_readonly("what", &Finding::what, "Such as \"driver\" or \"nvrtc\".")
      .def_readonly("found", &Finding::found, "Whether it is usable.")
      .def_readonly("version", &Finding::version, "Empty if unknown.")
      .def_readonly("where", &Finding::where, "A path, or empty.")
      .def_readonly("hint", &Finding::hint, "What to install if it is missing.")
      .def_readonly("searched", &Finding::searched,
                    "The places that were looked at, best first.")
      .def("__repr__", [](const Finding& finding) {
        return "gpuos.Finding(what='" + finding.what +
               "', found=" + (finding.found ? "True" : "False") +
               ", version='" + finding.version + "', where='" + finding.where +
               "')";
      });

  module.def("_add_library_dir", &add_library_dir, py::arg("path"),
             "Announce a folder with CUDA libraries.");
  module.def(
      "_diagnose",
      [] {
        const WithoutGil no_gil;
        return diagnose();
      },
      "Return what was looked for, as a list of Finding.");
}

}  // namespace gpuos::python
