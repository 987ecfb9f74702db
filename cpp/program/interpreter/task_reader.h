#pragma once

#include "device/interpreter/text.h"
#include "device/interpreter/view.h"
#include "device/operator.h"
#include "program/passes/compute_type.h"

namespace gpuos::program {

constexpr Code code_of(u16 opcode) {
  return static_cast<Code>(opcode >> kTypeBits);
}
constexpr u32 type_of(u16 opcode) { return opcode & ((1u << kTypeBits) - 1); }

/// Cells that a value takes.
constexpr u32 cells_of(u32 type) { return cells_of(static_cast<Type>(type)); }

/// Does the same for what an access loads or stores.
constexpr u32 cells_of(Code access) {
  return bytes_of(access) <= 4 ? 1 : bytes_of(access) / 4;
}

constexpr u32 kind_of(const Instruction& x) { return x.form & kKindMask; }

constexpr bool is_join(const Instruction& x) {
  return kind_of(x) == kJoin || kind_of(x) == kPlaceJoin;
}

/// Returns the size of a reduction's value for a row. Units: words of 32 bits.
constexpr u32 cells_of(const Instruction& join) {
  const u32 value = cells_of(type_of(join.opcode));
  return value + (kind_of(join) == kPlaceJoin ? 2 : 0);
}

/// The words of a task of the interpreter, on the host.
struct TaskReader : TaskView {
  explicit TaskReader(const Task& task)
      : TaskReader(task, reinterpret_cast<const u64*>(task.args[0])) {}

  u64 scalar(u32 index) const {
    return index < header.scalars ? scalars[index]
                                  : constants_of(text)[index - header.scalars];
  }
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
