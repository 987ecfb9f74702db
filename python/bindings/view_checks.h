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

/// Throws: InvalidArgument for a number of dimensions that cannot be.
void set_shape(TensorView& view, Role role, std::int64_t dims,
               const auto* shape) {
  if (dims < 0 || dims > kMaxDims || (dims > 0 && shape == nullptr)) {
    refuse(role, "0 to " + std::to_string(kMaxDims) + " dimensions",
           std::to_string(dims) + (shape == nullptr ? " without sizes" : ""));
  }
  view.dims = static_cast<std::uint8_t>(dims);
  std::copy(shape, shape + dims, view.shape.begin());
}

/// Strides of which `unit` is one element; null is C order. A view that lies in
/// C order without gaps gets none.
/// Throws: InvalidArgument for a stride that is no whole number of elements.
void set_strides(TensorView& view, Role role, const std::int64_t* strides,
                 std::int64_t unit);

/// What somebody else says of memory is not taken on trust: what follows counts
/// elements and bytes without looking for overflow.
///
/// Throws: InvalidArgument for a negative size, and unless the elements can be
/// counted, and their bytes be addressed, in 63 bits.
void check_reach(const TensorView& view, Role role);

/// Throws: InvalidArgument unless the view is in C order without gaps.
void check_contiguous(const TensorView& view, Role role);

}  // namespace gpuos::python
