#pragma once

#include "gpuos/kernel_args.h"
#include "pybind_objects.h"

namespace gpuos::python {

/// One argument of a kernel: None, a number, a NumPy scalar (structured ones
/// too), a ctypes object, or an array on the device of anybody.
/// Throws: InvalidArgument naming `index`.
void add_argument(KernelArgs& args, PyObject* value, std::size_t index);

/// A KernelArgs, or a sequence of such values.
KernelArgs arguments_from(const pybind11::object& values);

}  // namespace gpuos::python
