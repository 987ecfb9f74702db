#pragma once

#include "device/program_text.h"

namespace gpuos::program {

constexpr Code code_of(u16 opcode) {
  return static_cast<Code>(opcode >> kTypeBits);
}
constexpr u32 type_of(u16 opcode) { return opcode & ((1u << kTypeBits) - 1); }

/// Whether a value takes two cells.
constexpr bool is_wide(u32 type) { return type == kF64 || type >= kI64; }

constexpr bool is_wide(Code access) {
  return access == Code::Load64 || access == Code::Store64;
}

constexpr u32 kind_of(const Instruction& x) { return x.form & kKindMask; }

constexpr bool is_join(const Instruction& x) {
  return kind_of(x) == kJoin || kind_of(x) == kPlaceJoin;
}

/// What a reduction gathers for each row. Units: words of 32 bits.
constexpr u32 cells_of(const Instruction& join) {
  const u32 value = is_wide(type_of(join.opcode)) ? 2 : 1;
  return value + (kind_of(join) == kPlaceJoin ? 2 : 0);
}

}  // namespace gpuos::program
