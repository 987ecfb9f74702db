#pragma once

#include <Python.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "array_view.h"

namespace gpuos::python {

inline constexpr char kKnownDtypes[] =
    "dtype float32, float64, int32 or int64 in native byte order";
inline constexpr char kContiguous[] =
    "a contiguous array in C order (numpy.ascontiguousarray copies)";

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

/// Whether strides, of which `unit` is one element, leave no gaps.
bool is_c_ordered(const TensorView& view, const std::int64_t* strides,
                  std::int64_t unit) noexcept;

}  // namespace gpuos::python
