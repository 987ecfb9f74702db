#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "expression/expression.h"
#include "expression/opcodes.h"
#include "gpuos/dtype.h"

namespace gpuos::expression {

/// One value of an expression, computed once however often it is used.
struct Value {
  enum class Kind : std::uint8_t { Input, Param, Constant, Operation };
  Kind kind;
  Opcode opcode{};
  std::array<std::uint32_t, 3> operands{};  // earlier values
  std::uint32_t index = 0;                  // Input, Param: which
  std::uint64_t bits = 0;                   // Constant: as the dtype

  friend auto operator<=>(const Value&, const Value&) = default;
};

/// An expression for one dtype; the last value is the result.
struct Lowered {
  DType dtype = DType::Float32;
  std::vector<Value> values;
  std::vector<bool> is_used;     // by another value, or the result
  std::vector<bool> is_uniform;  // the same for every element
};

/// Throws: InvalidArgument for a function or literal that `dtype` lacks.
Lowered lower(const Expression& expression, DType dtype);

}  // namespace gpuos::expression
