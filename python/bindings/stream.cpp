#include "stream.h"

#include <pybind11/pybind11.h>

#include <string>

namespace py = pybind11;

namespace gpuos::python {
namespace {

Stream from_handle(const py::handle& handle) {
  return Stream(reinterpret_cast<void*>(py::cast<std::uintptr_t>(handle)));
}

}  // namespace

Stream stream_from(PyObject* stream) {
  const py::handle object(stream);
  if (object.is_none()) return {};
  if (PyLong_Check(stream) != 0) return from_handle(object);
  if (py::hasattr(object, "__cuda_stream__")) {
    const py::tuple pair = object.attr("__cuda_stream__")();
    return from_handle(pair[1]);
  }
  for (const char* name : {"cuda_stream", "ptr"}) {
    if (py::hasattr(object, name)) return from_handle(object.attr(name));
  }
  throw py::type_error(
      std::string("stream: expected None, an integer or a stream object, "
                  "got ") +
      Py_TYPE(stream)->tp_name);
}

}  // namespace gpuos::python
