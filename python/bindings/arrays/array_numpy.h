#pragma once

#include <cstdint>
#include <utility>

#include "arrays/array.h"
#include "module/pybind_objects.h"

namespace gpuos::python {

/// Returns numpy.asarray(source, dtype). It also takes an array of another
/// library whose dtype NumPy lacks, if DLPack has it. Throws: the errors of
/// NumPy.
pybind11::array as_ndarray(const pybind11::object& source,
                           const pybind11::object& dtype);

/// Copies an array_like of equal shape and dtype. Throws: InvalidArgument.
void copy_from(Array& array, const pybind11::object& source);

/// Returns the elements in C order. Without `copy` it returns a view of the
/// memory, which only the host backend has. Waits for the tasks that use it.
/// Throws: InvalidArgument, TypeError for a dtype that NumPy lacks without
/// ml_dtypes.
pybind11::array to_numpy(pybind11::handle self, bool copy);

/// Implements NumPy's `__array__`. `copy` None means "only if needed".
pybind11::object to_array(pybind11::handle self, const pybind11::object& dtype,
                          const pybind11::object& copy);

/// Returns the address for other code, after the tasks that use the memory, and
/// whether the array is in C order without gaps.
std::pair<std::uintptr_t, bool> settled_memory(Array& array);

/// Returns the elements in C order as uint8, read-only. This is the memory
/// itself if it is the host's and has no gaps. Waits for tasks that write them.
pybind11::array bytes_of(pybind11::handle self);
/// Copies a buffer of Array::bytes() bytes. Throws: InvalidArgument.
void set_bytes(Array& array, const pybind11::object& source);

/// Returns the array as a DLPack capsule, after the tasks that use its memory.
/// With `is_versioned` the capsule is of version 1 with these flags. The
/// capsule and its consumer hold the memory.
pybind11::object to_dlpack(Array& array, bool is_versioned,
                           std::uint64_t flags);

/// Returns (device type, device number).
pybind11::tuple dlpack_device(const Array& array);

}  // namespace gpuos::python
