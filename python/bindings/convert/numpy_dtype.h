#pragma once

#include <optional>
#include <string>

#include "gpuos/dtype.h"
#include "module/pybind_objects.h"

namespace gpuos::python {

/// Fetches NumPy's functions once. pybind11 does this at their first use with a
/// lock. A signal handler in the middle of that would wait for ever.
/// Throws: the errors of `import numpy`.
void fetch_numpy();

/// Returns nothing for an unknown dtype and for another byte order.
std::optional<DType> dtype_from_numpy(PyObject* descriptor);

/// Returns the dtype of "float32", numpy.float32, numpy.dtype("f4") and so on.
/// Throws: InvalidArgument.
DType dtype_of(pybind11::handle dtype);

/// Throws: TypeError if the package that makes it is not installed.
pybind11::dtype numpy_dtype(DType dtype);

/// Returns "float32", as NumPy writes a dtype.
std::string dtype_text(pybind11::handle dtype);

}  // namespace gpuos::python
