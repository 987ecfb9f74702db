#pragma once

#include <Python.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "array_view.h"

namespace gpuos::python {

/// Throws: InvalidArgument, "add: input 0: expected <expected>, got <got>".
[[noreturn]] void refuse(Role role, const std::string& expected,
                         const std::string& got);

/// "module.Type" of an object.
std::string type_text(PyObject* object);

/// Throws: InvalidArgument for too many dimensions.
void set_shape(TensorView& view, Role role, std::int64_t dims,
               const auto* shape) {
  if (dims > kMaxDims) {
    refuse(role, "at most " + std::to_string(kMaxDims) + " dimensions",
           std::to_string(dims));
  }
  view.dims = static_cast<std::uint8_t>(dims);
  std::copy(shape, shape + dims, view.shape.begin());
}

/// Strides of which `unit` is one element; null is C order. A view that lies in
/// C order without gaps gets none.
/// Throws: InvalidArgument for a stride that is no whole number of elements.
void set_strides(TensorView& view, Role role, const std::int64_t* strides,
                 std::int64_t unit);

/// Throws: InvalidArgument unless the view is in C order without gaps.
void check_contiguous(const TensorView& view, Role role);

}  // namespace gpuos::python
