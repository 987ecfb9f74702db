// What the compiled code of programs is written in; program/source.cpp writes
// it. Read by the host compiler and NVRTC.
#pragma once

#include "functions_basic.h"
#include "operator.h"
#include "program_text.h"
#include "program_values.h"
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

// A loop of many operations vectorises only if each of them is inlined, for
// which the host's compiler finds it too long.
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

// What a task says. The pass tells how many accesses and scalars there are.
template <u32 kAccesses, u32 kScalars>
struct Arguments {
  const u64* args;
  const u32* sizes;
  const i64* strides;
  TaskShape shape;
  RowShape rows;

  GPUOS_DEVICE explicit Arguments(const Task& task)
      : args(task.args + 1), sizes(nullptr), strides(nullptr) {
    const u64* at = args + kAccesses + kScalars;
    shape = bit_cast<TaskShape>(*at++);
    rows.columns = task.count;
    rows.rows = rows.row_lanes = rows.slices = rows.lanes = 1;
    rows.gathered = 0;
    if (is(kFlat)) return;
    rows.columns = at[0];
    rows.rows = static_cast<u32>(at[1]);
    rows.row_lanes = static_cast<u32>(at[1] >> 32);
    rows.slices = static_cast<u32>(at[2]);
    rows.lanes = static_cast<u32>(at[2] >> 32);
    rows.gathered = at[3];
    at += sizeof(RowShape) / sizeof(u64);
    if (is(kFarTable)) at = reinterpret_cast<const u64*>(*at);
    sizes = reinterpret_cast<const u32*>(at);
    strides = reinterpret_cast<const i64*>(at + (dims() + 1) / 2);
  }

  GPUOS_DEVICE bool is(u8 flag) const { return (shape.flags & flag) != 0; }
  GPUOS_DEVICE u32 outer() const { return shape.outer_dims; }
  GPUOS_DEVICE u32 dims() const {
    return u32{shape.outer_dims} + shape.inner_dims;
  }
  GPUOS_DEVICE const i64* strides_of(u32 access) const {
    return strides + access * dims();
  }
  GPUOS_DEVICE char* address(u32 access) const {
    return reinterpret_cast<char*>(args[access]);
  }
  // Whether a flat task's access walks.
  GPUOS_DEVICE bool walks(u32 access) const {
    return (shape.flat >> access & 1) != 0;
  }
  template <typename T>
  GPUOS_DEVICE T scalar(u32 index) const {
    return from_bits<T>(args[kAccesses + index]);
  }
};

}  // namespace program
}  // namespace gpuos
