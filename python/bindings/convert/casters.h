// These casters of pybind11 read and return gpuos's own types. Their readers
// throw, with an error that names the value.
#pragma once

#include <pybind11/stl.h>

#include "convert/keywords.h"
#include "convert/numpy_dtype.h"
#include "convert/reading.h"

// NOLINTBEGIN(readability-identifier-naming): pybind11's names
namespace pybind11::detail {

template <>
struct type_caster<gpuos::DType> {
  PYBIND11_TYPE_CASTER(gpuos::DType, const_name("dtype"));
  bool load(handle given, bool) {
    value = gpuos::python::dtype_of(given);
    return true;
  }
  static handle cast(gpuos::DType dtype, return_value_policy, handle) {
    return str(std::string(gpuos::name_of(dtype))).release();
  }
};

template <>
struct type_caster<gpuos::Scalar> {
  static constexpr auto name = const_name("number");
  template <typename>
  using cast_op_type = gpuos::Scalar;
  gpuos::Scalar value{0};

  operator gpuos::Scalar() const { return value; }
  bool load(handle given, bool) {
    value = gpuos::python::scalar_of(given.ptr());
    return true;
  }
  static handle cast(const gpuos::Scalar& scalar, return_value_policy policy,
                     handle parent) {
    if (scalar.is_complex())
      return pybind11::cast(scalar.complex(), policy, parent).release();
    if (scalar.is_above_int64())
      return int_(static_cast<std::uint64_t>(scalar.integer())).release();
    if (scalar.is_integer()) return int_(scalar.integer()).release();
    return float_(scalar.real()).release();
  }
};

}  // namespace pybind11::detail
// NOLINTEND(readability-identifier-naming)
