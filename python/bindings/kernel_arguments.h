#pragma once

#include "gpuos/kernel_args.h"
#include "pybind_objects.h"

namespace gpuos::python {

/// Adds one argument of a kernel. It is None, a number, a NumPy scalar (also a
/// structured one), a ctypes object, or any array on the device.
/// Throws: InvalidArgument naming `index`.
void add_argument(KernelArgs& args, PyObject* value, std::size_t index);

/// Returns the arguments of a KernelArgs, or of a sequence of such values.
KernelArgs arguments_from(const pybind11::object& values);

}  // namespace gpuos::python
