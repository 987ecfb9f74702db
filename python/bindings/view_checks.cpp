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

namespace {

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

}  // namespace

void set_strides(TensorView& view, Role role, const std::int64_t* strides,
                 std::int64_t unit) {
  view.has_strides = strides != nullptr && !is_c_ordered(view, strides, unit);
  if (!view.has_strides) return;
  for (std::size_t i = 0; i < view.dims; ++i) {
    const bool is_used = view.shape[i] > 1;
    if (is_used && strides[i] % unit != 0) {
      refuse(role,
             "strides that are multiples of the element's " +
                 std::to_string(unit) + " bytes",
             std::to_string(strides[i]));
    }
    view.strides[i] = is_used ? strides[i] / unit : 0;
  }
}

void check_contiguous(const TensorView& view, Role role) {
  if (!view.is_contiguous())
    refuse(role, "a contiguous array in C order", to_string(view));
}

}  // namespace gpuos::python
