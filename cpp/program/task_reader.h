#pragma once

#include "device/operator.h"
#include "device/program_view.h"

namespace gpuos::program {

/// The words of a task of the interpreter, on the host.
struct TaskReader : TaskView {
  explicit TaskReader(const Task& task)
      : TaskReader(task, reinterpret_cast<const u64*>(task.args[0])) {}

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

 private:
  TaskReader(const Task& task, const u64* words)
      : TaskReader(task, words, *reinterpret_cast<const TextHeader*>(words)) {}
  TaskReader(const Task& task, const u64* words, TextHeader told)
      : TaskView(task.args + 1 + told.accesses + told.scalars, task.count),
        text(words),
        header(told),
        addresses(task.args + 1),
        scalars(addresses + told.accesses) {}
};

}  // namespace gpuos::program
