#pragma once

#include "array.h"
#include "dlpack.h"
#include "pybind_objects.h"

namespace gpuos::python {

dlpack::DataType dlpack_type_of(DType dtype) noexcept;

/// The array as a DLPack capsule, of version 1 with these flags if
/// `is_versioned`, after the tasks that use its memory. The capsule and whoever
/// takes it hold the memory.
pybind11::object to_dlpack(Array& array, bool is_versioned,
                           std::uint64_t flags);

/// (device type, device number)
pybind11::tuple dlpack_device(const Array& array);

}  // namespace gpuos::python
