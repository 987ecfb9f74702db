#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "expression/opcodes.h"
#include "gpuos/dtype.h"

namespace gpuos::expression {

/// How PTX spells a dtype.
struct PtxType {
  std::string_view name;  // "f32"
  std::uint32_t bytes;
  bool is_real;
};

PtxType ptx_type_of(DType dtype) noexcept;

/// The value with these bits as an operand.
std::string ptx_constant(std::uint64_t bits, DType dtype);

/// The instructions of `opcode`, one in each line, with $t for the type, $o for
/// the result's register, $a, $b and $c for the operands, $0, $1 and $m for 0,
/// 1 and -1. Empty if PTX has no few instructions that do it. They may change
/// the predicate %p.
std::string_view ptx_template(Opcode opcode, bool is_real) noexcept;

/// Such a template with everything filled in.
std::string fill_ptx(std::string_view text, DType dtype,
                     const std::string& result,
                     const std::array<std::string, 3>& operands);

/// The instruction that makes a parameter one of the buffers' type. Empty for
/// real to integer, which has rules of its own; see convert() in device/math.h.
std::string ptx_conversion(DType from, DType to);

}  // namespace gpuos::expression
