#include "view_checks.h"

#include <pybind11/pybind11.h>

#include "gpuos/error.h"

namespace py = pybind11;

namespace gpuos::python {

void refuse(Role role, const std::string& expected, const std::string& got) {
  throw InvalidArgument(role.text() + ": expected " + expected + ", got " +
                        got);
}

std::string type_text(PyObject* object) {
  const auto type = py::type::of(object);
  return py::cast<std::string>(type.attr("__module__")) + "." +
         py::cast<std::string>(type.attr("__qualname__"));
}

bool is_c_ordered(const TensorView& view, const std::int64_t* strides,
                  std::int64_t unit) noexcept {
  std::int64_t expected = unit;
  for (std::size_t i = view.dims; i-- > 0;) {
    if (view.shape[i] == 0) return true;
    // Strides of an axis of one element say nothing.
    if (view.shape[i] > 1 && strides[i] != expected) return false;
    expected *= view.shape[i];
  }
  return true;
}

}  // namespace gpuos::python
