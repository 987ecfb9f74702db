// The entry points that module.cpp sets up.
#pragma once

#include <Python.h>
#include <torch/library.h>

#include <string>
#include <vector>

#include "gpuos/bridge.h"

namespace gpuos::bridge {

/// The lists of operators that Python has.
struct OperatorLists {
  std::vector<std::string> composite;        // made of others: pass unseen
  std::vector<std::string> other_composite;  // but may look at elements
  std::vector<std::string> views;            // do not look at elements
  std::vector<std::string> explicit_composite;
  // whose kernels would hide the barrier of pending tensors
};

/// Registers all operators. To be called once in a process.
/// Throws: c10::Error if another library has our keys.
void register_operators(const OperatorLists& lists);

/// Registers the operators that programs call most above autograd, without
/// boxing their arguments. Returns their names.
std::vector<std::string> register_kernels(torch::Library& mode);

/// Makes Python call these functions for PyTorch's methods, and for functions
/// of the module torch. The objects remain PyTorch's, which handles every
/// unusual call. A program's own replacement of a method is still called first.
/// Throws: python_error.
void install_overrides(PyObject* parameter_type);
/// Makes them call PyTorch again, also those that a program has kept.
void remove_overrides();

/// Makes the methods that give a tensor other memory flush first, because
/// requests may hold a tensor's object instead of its memory (objects.h). This
/// is permanent: it costs nothing while nothing is pending. The caller holds
/// the GIL. Throws: python_error.
void guard_storage_setters();

/// Observes each submission with foreign arrays. Pending operations on its
/// tensors run before it, and later PyTorch operations on them run after it.
const ArrayWatch& array_watch();

}  // namespace gpuos::bridge
