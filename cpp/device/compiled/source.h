// The names that the code of compiled programs uses. program/passes/source.cpp
// writes that code. The host compiler and NVRTC read this.
#pragma once

#include "functions/basic.h"
#include "interpreter/values.h"
#include "interpreter/view.h"
#include "operator.h"
#include "vectors.h"

namespace gpuos {
namespace program {

// Names a part of a pass: 0, 2, ... once a row, 1, 3, ... for its columns.
template <u32 kNumber>
struct Part {};

// For each element that is computed together: all at once on the device, a
// loop that vectorises on the host.
// NOLINTBEGIN(bugprone-macro-parentheses): a name
#if defined(__CUDACC__)
#define GPUOS_EACH(w, count) _Pragma("unroll") for (u32 w = 0; w < (count); ++w)
#elif defined(__clang__)
#define GPUOS_EACH(w, count)                                                  \
  _Pragma("clang loop vectorize(assume_safety)") for (u32 w = 0; w < (count); \
                                                      ++w)
#else
#define GPUOS_EACH(w, count) \
  _Pragma("GCC ivdep") for (u32 w = 0; w < (count); ++w)
#endif
// NOLINTEND(bugprone-macro-parentheses)

// A loop of many operations vectorises only if each operation is inlined. The
// host's compiler finds them too long for that.
#if defined(__CUDACC__)
#define GPUOS_FLAT
#else
#define GPUOS_FLAT __attribute__((flatten))
#endif

// A value of each of R rows.
template <typename T, u32 R>
struct PerRow {
  T values[R];

  GPUOS_DEVICE T& operator()(u32 w) { return values[R == 1 ? 0 : w]; }
  GPUOS_DEVICE const T& operator()(u32 w) const {
    return values[R == 1 ? 0 : w];
  }
};

// The words of a task. The pass knows the number of accesses and scalars.
template <u32 kAccesses, u32 kScalars>
struct TaskArguments : TaskView {
  const u64* args;

  GPUOS_DEVICE explicit TaskArguments(const Task& task)
      : TaskView(task.args + 1 + kAccesses + kScalars, task.count),
        args(task.args + 1) {}

  GPUOS_DEVICE char* address(u32 access) const {
    return reinterpret_cast<char*>(args[access]);
  }
  template <typename T>
  GPUOS_DEVICE T scalar(u32 index) const {
    return scalar_at<T>(args + kAccesses + index);
  }
};

}  // namespace program
}  // namespace gpuos
