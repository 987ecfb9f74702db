#include "stream.h"

#include <string>

#include "has_attribute.h"
#include "pybind_objects.h"
#include "reading.h"

namespace py = pybind11;

namespace gpuos::python {
namespace {

Stream from_handle(const py::handle& handle) {
  return Stream(address_of(handle, "stream"));
}

}  // namespace

Stream stream_from(PyObject* stream) {
  const py::handle object(stream);
  if (object.is_none()) return {};
  if (PyLong_Check(stream) != 0) return from_handle(object);
  if (has_attribute(object, "__cuda_stream__")) {
    const py::object given = object.attr("__cuda_stream__")();
    const py::tuple pair = items_of(given, "__cuda_stream__");
    if (pair.size() != 2)
      refuse_type("__cuda_stream__", "a version and a handle", given);
    return from_handle(pair[1]);
  }
  for (const char* name : {"cuda_stream", "ptr"}) {
    if (has_attribute(object, name)) return from_handle(object.attr(name));
  }
  throw py::type_error(
      "stream: expected None, an integer or a stream object, got " +
      kind_shown(object));
}

}  // namespace gpuos::python
