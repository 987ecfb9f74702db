#pragma once

#include "gpuos/jit_options.h"
#include "gpuos/kernel_args.h"
#include "module/pybind_objects.h"

namespace gpuos::python {

/// Adds one argument of a kernel. It is None, a number, a NumPy scalar (also a
/// structured one), a ctypes object, or any array on the device.
/// Throws: InvalidArgument naming `index`.
void add_argument(KernelArgs& args, PyObject* value, std::size_t index);

/// Returns the arguments of a KernelArgs, or of a sequence of such values.
KernelArgs arguments_from(const pybind11::object& values);

/// Reads None, a JitOptions, or a sequence of NVRTC's own options.
JitOptions jit_options_from(const pybind11::object& options);

void register_jit_options(pybind11::module_& module);

}  // namespace gpuos::python
