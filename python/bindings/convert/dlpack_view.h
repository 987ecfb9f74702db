#pragma once

#include <Python.h>

#include "convert/array_view.h"
#include "gpuos/dlpack.h"

namespace gpuos::python {

inline constexpr char kCapsule[] = "dltensor";
inline constexpr char kVersionedCapsule[] = "dltensor_versioned";

using dlpack::MemoryKind;

/// Returns the memory that a DLPack producer reports for its data. This calls
/// Python code.
MemoryKind memory_of(PyObject* object);

/// Returns an array in `wanted` through the C functions of its type, in
/// nanoseconds. Returns nothing (a null `keep`) if they do not apply.
/// view_dlpack() then returns the view or raises an error.
///
/// Throws: InvalidArgument as view_foreign() does.
ForeignView view_exchanged(PyObject* object, const MemoryKind& wanted,
                           Role role);

/// Returns an array through `__dlpack__`, in microseconds. `wanted` is the
/// place that the producer reported.
///
/// Throws: InvalidArgument as view_foreign() does, and if the producer does not
/// share the array. Also throws all other errors of the producer.
ForeignView view_dlpack(PyObject* object, const MemoryKind& wanted, Role role);

/// Holds what a capsule of DLPack points to.
struct CapsuleContent {
  const dlpack::Tensor* tensor;
  const dlpack::ManagedVersioned* versioned;  // null before version 1
};

/// Throws: ValueError for another capsule.
CapsuleContent dlpack_of(PyObject* capsule);

}  // namespace gpuos::python
