#pragma once

#include "array.h"
#include "dlpack.h"
#include "pybind_objects.h"

namespace gpuos::python {

dlpack::DataType dlpack_type_of(DType dtype) noexcept;

/// Returns the array as a DLPack capsule, after the tasks that use its memory.
/// With `is_versioned` the capsule is of version 1 with these flags. The
/// capsule and its consumer hold the memory.
pybind11::object to_dlpack(Array& array, bool is_versioned,
                           std::uint64_t flags);

/// Returns (device type, device number).
pybind11::tuple dlpack_device(const Array& array);

}  // namespace gpuos::python
