#pragma once

#include <string>

#include "module/pybind_objects.h"

namespace gpuos::python {

/// Decodes a path, or a text with one in it, as os.fsdecode() does. A name need
/// not be UTF-8.
inline pybind11::str path_text(const std::string& bytes) {
  const auto text = pybind11::reinterpret_steal<pybind11::str>(
      PyUnicode_DecodeFSDefaultAndSize(bytes.data(),
                                       static_cast<Py_ssize_t>(bytes.size())));
  if (!text) throw pybind11::error_already_set();
  return text;
}

}  // namespace gpuos::python
