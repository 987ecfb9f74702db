// The words of a task of the interpreter, on the device.
#pragma once

#include "interpreter/view.h"

namespace gpuos {
namespace program {

// The ends of parts that a worker keeps. They are enough for almost all texts.
enum : u32 { kKeptEnds = 16 };

struct DeviceTask : TaskView {
  const u64* text;
  const u32* ends;  // the first kKeptEnds parts'
  const u64* addresses;
  const u64* scalars;
  TextHeader header;

  DeviceTask() = default;
  // One thread. `kept_ends`: see keep_ends().
  __device__ void read(const Task& task, const u32* kept_ends) {
    text = text_of(task);
    ends = kept_ends;
    addresses = task.args + 1;
    header = bit_cast<TextHeader>(text[0]);
    scalars = addresses + header.accesses;
    TaskView::read(scalars + header.scalars, task.count);
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

  // The instructions of all parts.
  __device__ u32 size() const { return end(header.parts - 1); }

  // One lane for each part.
  static __device__ void keep_ends(const Task& task, u32* kept_ends) {
    const u64* text = text_of(task);
    const u32 part = threadIdx.x;
    if (part < kKeptEnds && part < bit_cast<TextHeader>(text[0]).parts)
      kept_ends[part] = static_cast<u32>(part_ends(text)[part]);
  }

 private:
  static __device__ const u64* text_of(const Task& task) {
    return reinterpret_cast<const u64*>(task.args[0]);
  }
};

}  // namespace program
}  // namespace gpuos
