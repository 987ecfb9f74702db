#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <string>

#include "gpuos/diagnose.h"
#include "gpuos/version.h"
#include "path_text.h"
#include "registrations.h"
#include "without_gil.h"

namespace py = pybind11;

namespace gpuos::python {

void register_diagnose(py::module_& module) {
  module.attr("__version__") = version();

  auto type = add_result_class<Finding>(module, "Finding");
  type.def_readonly("what", &Finding::what)
      .def_readonly("found", &Finding::found)
      .def_readonly("version", &Finding::version)
      .def_property_readonly(
          "where",
          [](const Finding& finding) { return path_text(finding.where); })
      .def_property_readonly(
          "hint",
          [](const Finding& finding) { return path_text(finding.hint); })
      .def_property_readonly("searched",
                             [](const Finding& finding) {
                               py::list places;
                               for (const std::string& place : finding.searched)
                                 places.append(path_text(place));
                               return places;
                             })
      .def("__repr__", [](const Finding& finding) {
        return path_text("gpuos.Finding(what='" + finding.what + "', found=" +
                         (finding.found ? "True" : "False") + ", version='" +
                         finding.version + "', where='" + finding.where + "')");
      });

  module.def(
      "_add_library_dir",
      [](const py::object& path) {
        PyObject* bytes = nullptr;
        if (PyUnicode_FSConverter(path.ptr(), &bytes) == 0)
          throw py::error_already_set();
        add_library_dir(std::string(py::reinterpret_steal<py::bytes>(bytes)));
      },
      py::arg("path"));
  module.def("_diagnose", [] {
    const WithoutGil no_gil;
    return diagnose();
  });
}

}  // namespace gpuos::python
