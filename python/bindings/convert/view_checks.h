#pragma once

#include <Python.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "convert/array_view.h"

namespace gpuos::python {

/// Throws: InvalidArgument, "add: input 0: expected <expected>, got <got>".
[[noreturn]] void refuse(Role role, const std::string& expected,
                         const std::string& got);

/// Returns "module.Type" of an object.
std::string type_text(PyObject* object);

/// Sets the shape. Throws: InvalidArgument for an impossible number of
/// dimensions.
void set_shape(TensorView& view, Role role, std::int64_t dims,
               const auto* shape) {
  if (dims < 0 || dims > kMaxDims || (dims > 0 && shape == nullptr)) {
    refuse(role, "0 to " + std::to_string(kMaxDims) + " dimensions",
           std::to_string(dims) + (shape == nullptr ? " without sizes" : ""));
  }
  view.dims = static_cast<std::uint8_t>(dims);
  std::copy(shape, shape + dims, view.shape.begin());
}

/// Sets strides in units: `unit` is the distance of one element. Null is C
/// order. A view in C order without gaps gets none.
/// Throws: InvalidArgument for a stride that is no whole number of elements.
void set_strides(TensorView& view, Role role, const std::int64_t* strides,
                 std::int64_t unit);

/// Checks what other code says of memory. Later code counts elements and bytes
/// without looking for overflow.
///
/// Throws: InvalidArgument for a negative size. Throws it also unless 63 bits
/// can count the elements and address their bytes.
void check_reach(const TensorView& view, Role role);

/// Throws: InvalidArgument unless the view is in C order without gaps.
void check_contiguous(const TensorView& view, Role role);

}  // namespace gpuos::python
