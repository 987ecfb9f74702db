#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <vector>

#include "arrays/array.h"
#include "arrays/deferred.h"

namespace gpuos::python {

/// Holds an operand of a deferred operation: the result of another one, or
/// memory. The memory does not change until the operation is submitted.
struct DeferredOperand {
  std::shared_ptr<DeferredOperation> operation;  // null: memory
  pybind11::object array;
  std::optional<Borrow> memory;
};

/// Describes an operation on arrays that is not submitted yet. Its result holds
/// it, and so do the operations that use the result. Without holders it is
/// forgotten.
struct DeferredOperation
    : public std::enable_shared_from_this<DeferredOperation> {
  DeferredOperation(DeferredOperations& all, Program program, Value made,
                    const TensorView& form)
      : all(all),
        program(std::move(program)),
        made(std::move(made)),
        form(form) {}
  ~DeferredOperation() { all.remove(*this); }
  DeferredOperation(const DeferredOperation&) = delete;
  DeferredOperation& operator=(const DeferredOperation&) = delete;

  DeferredOperations& all;
  Program program;
  Value made;       // the program's result, from its builder
  TensorView form;  // form of the result, without memory
  std::vector<DeferredOperand> operands;
  std::vector<Scalar> scalars;
  std::size_t bytes = 0;       // size of the memory that it reads
  PyObject* result = nullptr;  // a gpuos.Array, or null if it is destroyed
  std::exception_ptr failure;  // the reason if it could not be submitted

  /// Returns the result and holds it. Returns null if it is destroyed, or being
  /// destroyed now.
  pybind11::object held_result() const {
#if defined(Py_GIL_DISABLED)
    // Another thread may have released it and wait for the lock.
    if (result == nullptr) return {};
    PyObject* held = nullptr;
    if (PyWeakref_GetRef(weak_result.ptr(), &held) < 0) PyErr_Clear();
    return pybind11::reinterpret_steal<pybind11::object>(held);
#else
    return pybind11::reinterpret_borrow<pybind11::object>(result);
#endif
  }
#if defined(Py_GIL_DISABLED)
  pybind11::object weak_result;
#endif

  // These are for run():
  std::size_t place = 0;      // index among all that are run
  std::size_t last_user = 0;  // place of the last operation that uses its
                              // result
  std::size_t connected = 0;  // equal for all that depend on each other
  std::size_t in_group = 0;
  pybind11::object keeper;           // keeps the result
  Buffer own;                        // memory, if there is no result
  std::optional<TensorView> memory;  // place of the result, once it is
                                     // submitted
};

}  // namespace gpuos::python
