// Turns C++ exceptions into Python exceptions.
#pragma once

#include <Python.h>

namespace gpuos::bridge {

/// Raises the caught exception in Python, as PyTorch does, and returns null. To
/// be called in a catch clause. PyTorch's own macros keep a buffer of warnings
/// around the call, which costs more than the try.
PyObject* raise_caught() noexcept;

}  // namespace gpuos::bridge
