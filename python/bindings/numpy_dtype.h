#pragma once

#include <optional>
#include <string>

#include "gpuos/dtype.h"
#include "pybind_objects.h"

namespace gpuos::python {

/// Fetches NumPy's functions, once. pybind11 does it at their first use with a
/// lock that a signal's handler, in its middle, would wait for in vain.
/// Throws: what `import numpy` raises.
void fetch_numpy();

/// "dtype float32, ... or complex64 in native byte order", for messages.
const std::string& known_dtypes();

/// Empty for what gpuos does not know, and for another byte order.
std::optional<DType> dtype_from_numpy(PyObject* descriptor);

/// "float32", numpy.float32, numpy.dtype("f4"), ... Throws: InvalidArgument.
DType dtype_of(pybind11::handle dtype);

/// Throws: TypeError if the package that makes it is not installed.
pybind11::dtype numpy_dtype(DType dtype);

/// "float32", as NumPy writes a dtype.
std::string dtype_text(pybind11::handle dtype);

}  // namespace gpuos::python
