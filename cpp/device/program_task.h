// What a task of the interpreter says, on the device.
#pragma once

#include "number_limits.h"
#include "operator.h"
#include "program_text.h"

namespace gpuos {
namespace program {

// Ends of parts that a worker keeps: of all but very odd texts.
enum : u32 { kKeptEnds = 16 };

struct DeviceTask {
  const u64* text;
  const u32* ends;  // the first kKeptEnds parts'
  const u64* addresses;
  const u64* scalars;
  const u32* sizes;
  const i64* strides;
  TextHeader header;
  TaskShape shape;
  RowShape rows;

  DeviceTask() = default;
  __device__ DeviceTask(const Task& task, const u32* kept_ends)
      : text(reinterpret_cast<const u64*>(task.args[0])),
        ends(kept_ends),
        addresses(task.args + 1),
        sizes(nullptr),
        strides(nullptr),
        header(bit_cast<TextHeader>(text[0])) {
    scalars = addresses + header.accesses;
    const u64* at = scalars + header.scalars;
    shape = bit_cast<TaskShape>(*at++);
    rows.columns = task.count;
    rows.rows = rows.row_lanes = rows.slices = 1;
    rows.lanes = 0;
    rows.gathered = 0;
    if (shape.flags & kFlat) return;
    rows.columns = at[0];
    rows.rows = static_cast<u32>(at[1]);
    rows.row_lanes = static_cast<u32>(at[1] >> 32);
    rows.slices = static_cast<u32>(at[2]);
    rows.lanes = static_cast<u32>(at[2] >> 32);
    rows.gathered = at[3];
    at += sizeof(RowShape) / sizeof(u64);
    if (shape.flags & kFarTable) at = reinterpret_cast<const u64*>(*at);
    sizes = reinterpret_cast<const u32*>(at);
    strides = reinterpret_cast<const i64*>(at + (dims() + 1) / 2);
  }

  __device__ u32 dims() const {
    return u32{shape.outer_dims} + shape.inner_dims;
  }
  __device__ u32 begin(u32 part) const { return part == 0 ? 0 : end(part - 1); }
  __device__ u32 end(u32 part) const {
    return part < kKeptEnds ? ends[part]
                            : static_cast<u32>(part_ends(text)[part]);
  }

  __device__ u64 scalar(u32 index) const {
    return index < header.scalars ? scalars[index]
                                  : constants_of(text)[index - header.scalars];
  }

  // Instructions of all parts.
  __device__ u32 size() const { return end(header.parts - 1); }

  // One lane for each part.
  static __device__ void keep_ends(const Task& task, u32* kept_ends) {
    const u64* text = reinterpret_cast<const u64*>(task.args[0]);
    const u32 part = threadIdx.x;
    if (part < kKeptEnds && part < bit_cast<TextHeader>(text[0]).parts)
      kept_ends[part] = static_cast<u32>(part_ends(text)[part]);
  }

  // Bytes from the first element to number `number` of dimensions
  // [first, last) of `access`.
  __device__ i64 offset(u32 access, u32 first, u32 last, u64 number) const {
    const i64* along = strides + access * dims();
    i64 bytes = 0;
#pragma unroll 1
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
};

}  // namespace program
}  // namespace gpuos
