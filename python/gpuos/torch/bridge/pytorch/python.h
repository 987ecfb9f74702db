// Calls between C++ and Python.
#pragma once

#include <Python.h>
#include <torch/csrc/Exceptions.h>

namespace gpuos::bridge {

/// Raises the caught exception in Python, as PyTorch does, and returns null. To
/// be called in a catch clause. PyTorch's own macros keep a buffer of warnings
/// around the call, which costs more than the try.
[[gnu::noinline]] inline PyObject* raise_caught() noexcept {
  HANDLE_TH_ERRORS
  throw;
  END_HANDLE_TH_ERRORS
}

/// Python keeps functions of all kinds of arguments as if they were of one
/// kind. Casts through void*, because compilers warn of the casts that Python
/// needs.
template <typename To, typename Function>
To function_cast(Function* function) noexcept {
  // NOLINTNEXTLINE(bugprone-casting-through-void)
  return reinterpret_cast<To>(reinterpret_cast<void*>(function));
}

}  // namespace gpuos::bridge
