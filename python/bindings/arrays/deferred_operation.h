#pragma once

#include <array>
#include <optional>

#include "arrays/array.h"
#include "gpuos/lazy.h"

namespace gpuos::python {

/// Is a deferred operation whose result is a gpuos.Array.
struct DeferredOperation : LazyOperation {
  using LazyOperation::LazyOperation;

  /// Holds an operand that is in memory.
  struct Held {
    pybind11::object array;
    std::optional<Borrow> memory;
  };

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

  void let_go() noexcept {
    for (Held& each : held) {
      each.memory.reset();
      each.array = pybind11::object();
    }
  }

  std::array<Held, kMaxRequestOperands> held;  // as many as operands()
  PyObject* result = nullptr;  // a gpuos.Array, or null if it is destroyed
  pybind11::object keeper;     // keeps the result while it is submitted
#if defined(Py_GIL_DISABLED)
  pybind11::object weak_result;
#endif

 protected:
  bool is_wanted() const noexcept override { return keeper.ptr() != nullptr; }
  void* place() override;
};

}  // namespace gpuos::python
