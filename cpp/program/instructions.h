#pragma once

#include "device/program_text.h"
#include "program/compute_type.h"

namespace gpuos::program {

constexpr Code code_of(u16 opcode) {
  return static_cast<Code>(opcode >> kTypeBits);
}
constexpr u32 type_of(u16 opcode) { return opcode & ((1u << kTypeBits) - 1); }

/// Cells that a value takes.
constexpr u32 cells_of(u32 type) { return cells_of(static_cast<Type>(type)); }

/// Returns the number of cells that an access loads or stores.
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

}  // namespace gpuos::program
