#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <string>
#include <utility>
#include <vector>

#include "gpuos/cache.h"
#include "gpuos/diagnose.h"
#include "gpuos/version.h"
#include "module/registrations.h"
#include "module/without_gil.h"

namespace py = pybind11;

namespace gpuos::python {
namespace {

// Decodes a path, or a text with one in it, as os.fsdecode() does. A name need
// not be UTF-8.
py::str path_text(const std::string& bytes) {
  const auto text =
      py::reinterpret_steal<py::str>(PyUnicode_DecodeFSDefaultAndSize(
          bytes.data(), static_cast<Py_ssize_t>(bytes.size())));
  if (!text) throw py::error_already_set();
  return text;
}

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

py::tuple level_of(const CacheLevel& l) {
  return py::make_tuple(path_text(l.folder), path_text(l.why_off),
                        l.is_writable, l.entries, l.bytes);
}

py::list paths_of(const std::vector<std::string>& paths) {
  py::list texts;
  for (const std::string& path : paths) texts.append(path_text(path));
  return texts;
}

}  // namespace

// gpuos/cache.py and gpuos/diagnosis.py make named tuples of these.
void register_cache(py::module_& module) {
  module.attr("__version__") = version();
  module.def("_cache_info", [] {
    const CacheInfo info = released(&cache_info);
    return py::make_tuple(level_of(info.own), level_of(info.read_only),
                          info.max_bytes);
  });
  module.def("_cached_images", [] {
    py::list images;
    for (const CachedImage& i : released(&cached_images))
      images.append(py::make_tuple(path_text(i.path), i.is_read_only,
                                   name_of(i.state), path_text(i.problem),
                                   path_text(i.name), i.arch, i.registers,
                                   i.bytes, i.used));
    return images;
  });
  module.def(
      "_prune_cache",
      [](std::uint64_t max_bytes) {
        return pair_of(released([&] { return prune_cache(max_bytes); }));
      },
      py::arg("max_bytes"));
  module.def("_clear_cache", [] { return pair_of(released(&clear_cache)); });
  module.def("_diagnose", [] {
    py::list findings;
    for (const Finding& f : released(&diagnose))
      findings.append(py::make_tuple(f.what, f.found, f.version,
                                     path_text(f.where), path_text(f.hint),
                                     paths_of(f.searched)));
    return findings;
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
}

}  // namespace gpuos::python
