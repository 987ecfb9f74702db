#pragma once

#include <optional>
#include <string>

#include "gpuos/dtype.h"
#include "pybind_objects.h"

namespace gpuos::python {

/// "dtype float32, ...", for messages.
extern const char* const kKnownDtypes;

/// Empty for what gpuos does not know, and for another byte order.
std::optional<DType> dtype_from_numpy(PyObject* descriptor);

/// "float32", numpy.float32, numpy.dtype("f4"), ... Throws: InvalidArgument.
DType dtype_of(pybind11::handle dtype);

/// bfloat16 is that of ml_dtypes. Throws: TypeError if that is not installed.
pybind11::dtype numpy_dtype(DType dtype);

/// "float32", as NumPy writes a dtype.
std::string dtype_text(pybind11::handle dtype);

}  // namespace gpuos::python
