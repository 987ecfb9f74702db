#pragma once

#include "device/operator.h"
#include "device/program_text.h"

namespace gpuos::program {

/// What a task of the interpreter says, on the host.
struct TaskReader {
  explicit TaskReader(const Task& task)
      : text(reinterpret_cast<const u64*>(task.args[0])),
        header(*reinterpret_cast<const TextHeader*>(text)),
        addresses(task.args + 1),
        scalars(addresses + header.accesses) {
    const u64* at = scalars + header.scalars;
    shape = *reinterpret_cast<const TaskShape*>(at++);
    rows = {.columns = task.count,
            .rows = 1,
            .row_lanes = 1,
            .slices = 1,
            .lanes = 1,
            .gathered = 0};
    if ((shape.flags & kFlat) != 0) return;
    rows = *reinterpret_cast<const RowShape*>(at);
    at += sizeof(RowShape) / sizeof(u64);
    if ((shape.flags & kFarTable) != 0) at = reinterpret_cast<const u64*>(*at);
    sizes = reinterpret_cast<const u32*>(at);
    strides = reinterpret_cast<const i64*>(at + (dims() + 1) / 2);
  }

  u32 dims() const { return u32{shape.outer_dims} + shape.inner_dims; }
  const i64* strides_of(u32 access) const { return strides + access * dims(); }
  u64 scalar(u32 index) const {
    return index < header.scalars ? scalars[index]
                                  : constants_of(text)[index - header.scalars];
  }
  /// The instructions of a part.
  const Instruction* begin(u32 part) const {
    return instructions_of(text) + (part == 0 ? 0 : part_ends(text)[part - 1]);
  }
  const Instruction* end(u32 part) const {
    return instructions_of(text) + part_ends(text)[part];
  }

  const u64* text;
  TextHeader header;
  const u64* addresses;
  const u64* scalars;
  TaskShape shape{};
  RowShape rows{};
  const u32* sizes = nullptr;
  const i64* strides = nullptr;
};

}  // namespace gpuos::program
