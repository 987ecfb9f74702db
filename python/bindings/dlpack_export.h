#pragma once

#include <pybind11/pybind11.h>

#include "array.h"

namespace gpuos::python {

/// The array as a DLPack capsule, of version 1 if `is_versioned`. The capsule
/// and whoever takes it hold the memory.
pybind11::object to_dlpack(const Array& array, bool is_versioned);

/// (device type, device number)
pybind11::tuple dlpack_device(const Array& array);

}  // namespace gpuos::python
