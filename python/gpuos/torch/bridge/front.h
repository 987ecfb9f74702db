// Methods of torch.Tensor that put the usual calls off without PyTorch's
// argument parser, dispatcher and autograd.
#pragma once

#include <Python.h>

namespace gpuos::bridge {

/// Puts them on torch.Tensor; what was there is called for everything unusual.
/// Throws: python_error.
void install_front(PyObject* parameter_type);
/// Puts back what was there.
void remove_front();
/// What to call, which may remove the front, once no scheduler has been in use
/// for so long that its methods are only in the way.
void retire_front_with(PyObject* callable);

}  // namespace gpuos::bridge
