// Methods of torch.Tensor and functions of the module torch that defer the
// usual calls without PyTorch's argument parser, dispatcher and autograd.
#pragma once

#include <Python.h>

namespace gpuos::bridge {

/// Makes Python call these functions for PyTorch's methods, and for functions
/// of the module torch. The objects remain PyTorch's, which handles every
/// unusual call. A program's own replacement of a method is still called first.
/// Throws: python_error.
void install_overrides(PyObject* parameter_type);
/// Makes the methods call PyTorch again, also those that a program has kept.
void remove_overrides();

/// Makes PyTorch's function objects call ours. The objects stay the same, so
/// programs that have imported or compare them see no difference.
/// Throws: python_error.
void install_functions();
void remove_functions();

/// Makes the methods that give a tensor other memory flush first, because
/// requests may hold a tensor's object instead of its memory (objects.h). This
/// is permanent: it costs nothing while nothing is pending. The caller holds
/// the GIL. Throws: python_error.
void guard_storage_setters();

}  // namespace gpuos::bridge
