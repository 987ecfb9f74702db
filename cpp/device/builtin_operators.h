// The operators that every runtime starts with, in table order: for operator
// k and dtype d the slot is k * 4 + d.
#pragma once

#include "arithmetic.h"
#include "map.h"

// X(name, number of inputs, number of scalars, value of element i)
#define GPUOS_BUILTIN_OPERATORS(X)     \
  X(add, 2, 0, gpuos::add(x[0], x[1])) \
  X(sub, 2, 0, gpuos::sub(x[0], x[1])) \
  X(mul, 2, 0, gpuos::mul(x[0], x[1])) \
  X(div, 2, 0, gpuos::div(x[0], x[1])) \
  X(copy, 1, 0, x[0])                  \
  X(fill, 0, 1, value)

// X(suffix, C++ type), in the order of gpuos::DType
#define GPUOS_BUILTIN_DTYPES(X, ...) \
  X(f32, float, __VA_ARGS__)         \
  X(f64, double, __VA_ARGS__)        \
  X(i32, int, __VA_ARGS__)           \
  X(i64, long long, __VA_ARGS__)

namespace gpuos {

// The loop of a built-in with 0, 1 or 2 inputs.
template <typename T, u32 kInputs, typename F>
GPUOS_DEVICE inline void run_builtin(Task task, Lane lane, F f) {
  T* out = task.pointer<T>(0);
  if constexpr (kInputs == 0) {
    const T value = task.scalar<T>(1);
    map<T>(out, task.count, lane, [=](const T* x) { return f(x, value); });
  } else if constexpr (kInputs == 1) {
    map<T>(
        out, task.count, lane, [=](const T* x) { return f(x, T{}); },
        task.pointer<const T>(1));
  } else {
    map<T>(
        out, task.count, lane, [=](const T* x) { return f(x, T{}); },
        task.pointer<const T>(1), task.pointer<const T>(2));
  }
}

}  // namespace gpuos
