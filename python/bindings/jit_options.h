#pragma once

#include "gpuos/jit_options.h"
#include "pybind_objects.h"

namespace gpuos::python {

/// Reads None, a JitOptions, or a sequence of NVRTC's own options.
JitOptions jit_options_from(const pybind11::object& options);

void register_jit_options(pybind11::module_& module);

}  // namespace gpuos::python
