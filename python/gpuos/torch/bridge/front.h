// Methods of torch.Tensor that defer the usual calls without PyTorch's
// argument parser, dispatcher and autograd.
#pragma once

#include <Python.h>

namespace gpuos::bridge {

/// Puts them on torch.Tensor, and functions of front_functions.h in their
/// place; what was there is called for everything unusual. Throws:
/// python_error.
void install_front(PyObject* parameter_type);
/// Puts back what was there.
void remove_front();

}  // namespace gpuos::bridge
