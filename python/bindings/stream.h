#pragma once

#include <Python.h>

#include "gpuos/runtime.h"

namespace gpuos::python {

/// None (the runtime's own), an integer handle, or an object of PyTorch
/// (.cuda_stream), CuPy (.ptr) or with the __cuda_stream__ protocol.
/// Throws: TypeError.
Stream stream_from(PyObject* stream);

}  // namespace gpuos::python
