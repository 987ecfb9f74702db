#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <string>
#include <utility>

#include "gpuos/cache.h"
#include "path_text.h"
#include "registrations.h"
#include "without_gil.h"

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

template <typename Type>
py::class_<Type> add_class(py::module_& module, const char* name,
                           const char* doc) {
  py::class_<Type> type(module, name, doc, py::is_final(), plain_metaclass());
  type.attr("__module__") = "gpuos.cache";
  forbid_new(type);
  return type;
}

std::string repr_of_level(const CacheLevel& level) {
  return "gpuos.cache.CacheLevel(folder=" +
         std::string(py::repr(path_text(level.folder))) +
         ", entries=" + std::to_string(level.entries) +
         ", bytes=" + std::to_string(level.bytes) + ")";
}

std::string repr_of_info(const CacheInfo& info) {
  return "gpuos.cache.CacheInfo(own=" + repr_of_level(info.own) +
         ", read_only=" + repr_of_level(info.read_only) +
         ", max_bytes=" + std::to_string(info.max_bytes) + ")";
}

std::string repr_of_image(const CachedImage& image) {
  return "gpuos.cache.CachedImage(name=" +
         std::string(py::repr(path_text(image.name))) + ", arch='" +
         image.arch + "', state='" + name_of(image.state) +
         "', bytes=" + std::to_string(image.bytes) + ")";
}

void add_classes(py::module_& module) {
  add_class<CacheLevel>(module, "CacheLevel", "One folder of compiled images.")
      .def_property_readonly(
          "folder", [](const CacheLevel& l) { return path_text(l.folder); },
          "Empty if none is wanted.")
      .def_property_readonly(
          "why_off", [](const CacheLevel& l) { return path_text(l.why_off); },
          "Why it is not used; empty if it is.")
      .def_readonly("is_writable", &CacheLevel::is_writable,
                    "Whether files can be added.")
      .def_readonly("entries", &CacheLevel::entries, "How many images.")
      .def_readonly("bytes", &CacheLevel::bytes, "Of all of them.")
      .def("__repr__", &repr_of_level);
  add_class<CacheInfo>(module, "CacheInfo",
                       "The disk cache of compiled operators.")
      .def_readonly("own", &CacheInfo::own, "The level that is written.")
      .def_readonly("read_only", &CacheInfo::read_only,
                    "The level of GPUOS_CACHE_READONLY_DIR.")
      .def_readonly("max_bytes", &CacheInfo::max_bytes,
                    "How large the own level may grow.")
      .def("__repr__", &repr_of_info);
  add_class<CachedImage>(module, "CachedImage", "A file of the cache.")
      .def_property_readonly(
          "path", [](const CachedImage& i) { return path_text(i.path); },
          "Of the file.")
      .def_readonly("is_read_only", &CachedImage::is_read_only,
                    "Whether it is in the read-only level.")
      .def_property_readonly(
          "state",
          [](const CachedImage& image) { return name_of(image.state); },
          "\"good\", \"bad\" or \"other schema\".")
      .def_property_readonly(
          "problem", [](const CachedImage& i) { return path_text(i.problem); },
          "Empty if it is good.")
      .def_property_readonly(
          "name", [](const CachedImage& i) { return path_text(i.name); },
          "Such as \"axpy.cu\".")
      .def_readonly("arch", &CachedImage::arch, "Such as \"sm_90\".")
      .def_readonly("registers", &CachedImage::registers, "Per thread.")
      .def_readonly("bytes", &CachedImage::bytes, "Of the file.")
      .def_readonly("used", &CachedImage::used,
                    "When last, in seconds since 1970.")
      .def("__repr__", &repr_of_image);
}

}  // namespace

void register_cache(py::module_& module) {
  add_classes(module);
  module.def(
      "_cache_info",
      [] {
        const WithoutGil no_gil;
        return cache_info();
      },
      "Return where the cache is and how large.");
  module.def(
      "_cached_images",
      [] {
        const WithoutGil no_gil;
        return cached_images();
      },
      "Read and check every file of the cache.");
  module.def(
      "_prune_cache",
      [](std::uint64_t max_bytes) {
        const WithoutGil no_gil;
        return pair_of(prune_cache(max_bytes));
      },
      py::arg("max_bytes"), "Return how many files and bytes were removed.");
  module.def(
      "_clear_cache",
      [] {
        const WithoutGil no_gil;
        return pair_of(clear_cache());
      },
      "Return how many files and bytes were removed.");
}

}  // namespace gpuos::python
