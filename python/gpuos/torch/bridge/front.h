// Methods of torch.Tensor that defer the usual calls without PyTorch's
// argument parser, dispatcher and autograd.
#pragma once

#include <Python.h>

namespace gpuos::bridge {

/// Has Python call them for PyTorch's methods, and functions of
/// front_functions.h; the objects stay PyTorch's, which is called for
/// everything unusual. What a program has put over a method is called first, as
/// ever. Throws: python_error.
void install_front(PyObject* parameter_type);
/// Has it call PyTorch again, also by what was kept meanwhile.
void remove_front();

}  // namespace gpuos::bridge
