#pragma once

#include <Python.h>

#include <exception>

#include "module/own_lock.h"

namespace gpuos::python {

/// Turns a C++ exception into the pending Python exception.
void set_python_error(const std::exception_ptr& error) noexcept;

/// Runs `body` at the edge of a plain C method. Python's calls enter here.
template <typename Body>
PyObject* guarded(Body body) noexcept {
  try {
    const WithLock lock;
    return body();
  } catch (...) {
    set_python_error(std::current_exception());
    return nullptr;
  }
}

}  // namespace gpuos::python
