// From C++ exceptions to Python's.
#pragma once

#include <Python.h>

namespace gpuos::bridge {

/// In a catch clause: raises what was caught, as PyTorch does, and returns
/// null. PyTorch's own macros keep a buffer of warnings around all that may
/// throw, which costs each call more than the try.
PyObject* raise_caught() noexcept;

}  // namespace gpuos::bridge
