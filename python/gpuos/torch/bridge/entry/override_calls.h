// The common part of overridden methods and functions: from the arguments of a
// Python call to requests.
#pragma once

#include <Python.h>
#include <torch/csrc/autograd/python_variable.h>

#include <chrono>

#include "flush/backoff.h"
#include "planning/elementwise.h"
#include "pytorch/modes.h"

namespace gpuos::bridge {

/// torch.nn.Parameter, which is taken like torch.Tensor.
inline PyTypeObject* parameter_type = nullptr;  // under the GIL

/// A tensor, of no subclass but torch.nn.Parameter.
inline bool is_ordinary(PyObject* object) {
  const PyTypeObject* type = Py_TYPE(object);
  return C10_LIKELY(type ==
                    reinterpret_cast<PyTypeObject*>(THPVariableClass)) ||
         type == parameter_type;
}

/// Returns whether an unusual thread is one that backed off.
inline bool may_wake() {
  return scheduler_depth > 0 && --calls_to_look == 0 && try_to_wake() &&
         is_usual_thread();
}
/// Returns whether this thread defers at all now.
[[gnu::always_inline]] inline bool may_take() {
  return (C10_LIKELY(is_usual_thread()) || may_wake()) && !has_function_mode();
}
/// A Python number that is one of floating tensors without loss.
bool read_number(PyObject* object, double& number);

// Each function returns an undefined tensor for a call that PyTorch must do,
// and whose errors it raises. `tensor` is ordinary. The other arguments are
// arbitrary.

Tensor take_unary(const Elementwise& what, PyObject* tensor);
Tensor take_binary(const Elementwise& what, PyObject* tensor, PyObject* other,
                   bool is_reversed = false);
Tensor take_power(PyObject* tensor, PyObject* exponent);
Tensor take_clamp(PyObject* tensor, PyObject* low, PyObject* high);
Tensor take_where(PyObject* condition, PyObject* a, PyObject* b);
/// `arguments` follow the tensor. The first `count` are positional.
Tensor take_rows(Function function, PyObject* tensor,
                 PyObject* const* arguments, Py_ssize_t count, PyObject* names);

/// Lets this thread's schedulers begin to defer, or the overrides retire. To be
/// called before PyTorch's own function. Returns false for a Python error.
bool look_around();
/// A scheduler has ended.
void note_use();
/// Sets the time for which the overrides stay at least.
void retire_after(std::chrono::nanoseconds time);
/// Calls `callable`, which may remove the overrides, when no scheduler was in
/// use for long.
void retire_front_with(PyObject* callable);
/// Calls `callable` in a thread in which schedulers may wait for the bridge.
void join_with(PyObject* callable);
/// Sets the number of waiting schedulers in all threads.
void await_schedulers(int count);

}  // namespace gpuos::bridge
