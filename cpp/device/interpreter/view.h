// The arrays of a program's task: sizes, strides and how rows are shared. The
// host compiler, nvcc and NVRTC read this.
#pragma once

#include "interpreter/text.h"
#include "number_limits.h"
#include "operator.h"

namespace gpuos {
namespace program {

// Describes `runs` lines of `count` elements each. The elements of a line are
// the same distance apart, and so are the lines.
struct Run {
  u64 done;    // elements before them
  i64 offset;  // bytes from the access' address
  i64 stride;  // bytes
  u64 count;
  u64 runs;
  i64 between;  // bytes from run to run
};

// Describes elements: columns [column, column + count) of a row, or with by_row
// rows [row, row + count) of a column.
struct Stretch {
  u64 row;
  u64 column;
  u64 count;
  bool by_row;
};

struct TaskView {
  const u32* sizes;
  const i64* strides;
  TaskShape shape;
  RowShape rows;

  TaskView() = default;
  // `at` points after the scalars. `elements` is their number in a flat task.
  GPUOS_DEVICE TaskView(const u64* at, u32 elements) { read(at, elements); }
  // Fills a view in place. A worker's view is in shared memory.
  GPUOS_DEVICE void read(const u64* at, u32 elements) {
    sizes = nullptr;
    strides = nullptr;
    shape = bit_cast<TaskShape>(*at++);
    rows.columns = elements;
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
  // Returns whether an access of a flat task moves.
  GPUOS_DEVICE bool walks(u32 access) const {
    return (shape.flat >> access & 1) != 0;
  }

  // Bytes from the first element to number `number` of dimensions
  // [first, last) of `access`.
  GPUOS_DEVICE i64 offset(u32 access, u32 first, u32 last, u64 number) const {
    const i64* along = strides_of(access);
    i64 bytes = 0;
#if defined(__CUDACC__)
#pragma unroll 1
#endif
    for (u32 d = last; d > first + 1; --d) {
      const u32 size = sizes[d - 1];
      u64 quotient;
      if (number >> 32) {
        quotient = number / size;
      } else {
        quotient = static_cast<u32>(number) / size;
      }
      bytes += static_cast<i64>(number - quotient * size) * along[d - 1];
      number = quotient;
    }
    if (last > first) bytes += static_cast<i64>(number) * along[first];
    return bytes;
  }

  // Calls `f` for the runs of a stretch. `elem_bytes` is for flat accesses.
  template <typename F>
  GPUOS_DEVICE void each_run(u32 access, i64 elem_bytes, const Stretch& of,
                             F f) const {
    if (is(kFlat)) {
      const i64 stride = walks(access) ? elem_bytes : 0;
      f(Run{0, static_cast<i64>(of.column) * stride, stride, of.count, 1, 0});
      return;
    }
    const u32 first = of.by_row ? 0 : outer();
    const u32 last = of.by_row ? outer() : dims();
    const i64 fixed = of.by_row ? offset(access, outer(), dims(), of.column)
                                : offset(access, 0, outer(), of.row);
    u64 number = of.by_row ? of.row : of.column;
    const u32 walked = last - first;
    const i64* along = strides_of(access) + first;
    const i64 stride = walked != 0 ? along[walked - 1] : 0;
    const i64 between = walked > 1 ? along[walked - 2] : 0;
    for (u64 done = 0; done < of.count;) {
      const u64 left = of.count - done;
      Run run{done,   fixed + offset(access, first, last, number),
              stride, left,
              1,      between};
      if (walked > 1) {
        const u64 size = sizes[last - 1];
        const u64 at = number % size;
        run.count = size - at < left ? size - at : left;
        if (at == 0 && left >= size) {
          run.runs = left / size;
          // They end with the dimension before.
          if (walked > 2) {
            const u64 rows = sizes[last - 2];
            const u64 rest = rows - number / size % rows;
            if (rest < run.runs) run.runs = rest;
          }
        }
        if (between == stride * static_cast<i64>(size)) {
          run.count *= run.runs;
          run.runs = 1;
        }
      }
      f(run);
      done += run.count * run.runs;
      number += run.count * run.runs;
    }
  }
};

}  // namespace program
}  // namespace gpuos
