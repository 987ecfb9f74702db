// The built-in operators.
#pragma once

#include "arithmetic.h"
#include "builtin_list.h"
#include "map.h"

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
