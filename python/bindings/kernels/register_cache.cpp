#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <string>
#include <utility>

#include "gpuos/cache.h"
#include "gpuos/diagnose.h"
#include "gpuos/version.h"
#include "module/path_text.h"
#include "module/python_methods.h"
#include "module/registrations.h"
#include "module/without_gil.h"

namespace py = pybind11;

namespace gpuos::python {
namespace {

const char* name_of(CachedImageState state) {
  switch (state) {
    case CachedImageState::Good:
      return "good";
    case CachedImageState::OtherSchema:
      return "other schema";
    case CachedImageState::Bad:
      break;
  }
  return "bad";
}

std::pair<std::uint64_t, std::uint64_t> pair_of(const CacheRemoval& removal) {
  return {removal.files, removal.bytes};
}

constexpr char kHome[] = "gpuos.cache";

void add_classes(py::module_& module) {
  auto level = add_result_class<CacheLevel>(module, "CacheLevel", kHome);
  level
      .def_property_readonly(
          "folder", [](const CacheLevel& l) { return path_text(l.folder); })
      .def_property_readonly(
          "why_off", [](const CacheLevel& l) { return path_text(l.why_off); })
      .def_readonly("is_writable", &CacheLevel::is_writable)
      .def_readonly("entries", &CacheLevel::entries)
      .def_readonly("bytes", &CacheLevel::bytes);
  auto info = add_result_class<CacheInfo>(module, "CacheInfo", kHome);
  info.def_readonly("own", &CacheInfo::own)
      .def_readonly("read_only", &CacheInfo::read_only)
      .def_readonly("max_bytes", &CacheInfo::max_bytes);
  auto image = add_result_class<CachedImage>(module, "CachedImage", kHome);
  image
      .def_property_readonly(
          "path", [](const CachedImage& i) { return path_text(i.path); })
      .def_readonly("is_read_only", &CachedImage::is_read_only)
      .def_property_readonly(
          "state",
          [](const CachedImage& image) { return name_of(image.state); })
      .def_property_readonly(
          "problem", [](const CachedImage& i) { return path_text(i.problem); })
      .def_property_readonly(
          "name", [](const CachedImage& i) { return path_text(i.name); })
      .def_readonly("arch", &CachedImage::arch)
      .def_readonly("registers", &CachedImage::registers)
      .def_readonly("bytes", &CachedImage::bytes)
      .def_readonly("used", &CachedImage::used);
}

}  // namespace

void register_cache(py::module_& module) {
  add_classes(module);
  module.def("_cache_info", [] {
    const WithoutGil no_gil;
    return cache_info();
  });
  module.def("_cached_images", [] {
    const WithoutGil no_gil;
    return cached_images();
  });
  module.def(
      "_prune_cache",
      [](std::uint64_t max_bytes) {
        const WithoutGil no_gil;
        return pair_of(prune_cache(max_bytes));
      },
      py::arg("max_bytes"));
  module.def("_clear_cache", [] {
    const WithoutGil no_gil;
    return pair_of(clear_cache());
  });
}

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
      .def_property_readonly("searched", [](const Finding& finding) {
        py::list places;
        for (const std::string& place : finding.searched)
          places.append(path_text(place));
        return places;
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
