#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "module/pybind_objects.h"
#include "module/python_module.h"
#include "module/without_gil.h"

namespace gpuos::python {

/// Returns a variable of the device as a NumPy array of `dtype`. `size` returns
/// its bytes, and `read(to, bytes)` copies them. Both run without the GIL.
template <typename Size, typename Read>
pybind11::object read_variable(const pybind11::object& dtype, Size size,
                               Read read) {
  const pybind11::object numpy = python_module("numpy");
  std::string value;
  {
    const WithoutGil no_gil;
    value.resize(size());
    read(value.data(), value.size());
  }
  return numpy.attr("frombuffer")(pybind11::bytes(value), dtype).attr("copy")();
}

/// Passes the bytes of an array to `write(from, bytes)`, without the GIL.
template <typename Write>
void write_variable(const pybind11::object& values, Write write) {
  const pybind11::bytes bytes =
      python_module("numpy").attr("ascontiguousarray")(values).attr(
          "tobytes")();
  const std::string_view view = bytes;
  const WithoutGil no_gil;
  write(view.data(), view.size());
}

}  // namespace gpuos::python
