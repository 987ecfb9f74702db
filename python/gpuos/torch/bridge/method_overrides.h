// Methods of torch.Tensor that defer the usual calls without PyTorch's
// argument parser, dispatcher and autograd.
#pragma once

#include <Python.h>

namespace gpuos::bridge {

/// Makes Python call these functions for PyTorch's methods, and for functions
/// of function_overrides.h. The objects remain PyTorch's, which handles every
/// unusual call. A program's own replacement of a method is still called first.
/// Throws: python_error.
void install_overrides(PyObject* parameter_type);
/// Makes the methods call PyTorch again, also those that a program has kept.
void remove_overrides();

}  // namespace gpuos::bridge
