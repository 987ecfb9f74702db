#pragma once

#include <Python.h>

#include "gpuos/runtime.h"

namespace gpuos::python {

/// Returns the stream of None (the runtime's own), an integer handle, or an
/// object. The object is of PyTorch (.cuda_stream) or CuPy (.ptr), or has the
/// __cuda_stream__ protocol.
/// Throws: TypeError.
Stream stream_from(PyObject* stream);

}  // namespace gpuos::python
