#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace gpuos::expression {

// X(opcode, function of device/math.h, operands, floating types only)
#define GPUOS_OPCODES(X)                   \
  X(Add, add, 2, false)                    \
  X(Sub, sub, 2, false)                    \
  X(Mul, mul, 2, false)                    \
  X(Div, div, 2, false)                    \
  X(FloorDiv, floor_div, 2, false)         \
  X(FloorMod, floor_mod, 2, false)         \
  X(Pow, pow, 2, false)                    \
  X(Neg, neg, 1, false)                    \
  X(Less, less, 2, false)                  \
  X(LessEqual, less_equal, 2, false)       \
  X(Greater, greater, 2, false)            \
  X(GreaterEqual, greater_equal, 2, false) \
  X(Equal, equal, 2, false)                \
  X(NotEqual, not_equal, 2, false)         \
  X(Minimum, minimum, 2, false)            \
  X(Maximum, maximum, 2, false)            \
  X(Abs, abs, 1, false)                    \
  X(Exp, exp, 1, true)                     \
  X(Exp2, exp2, 1, true)                   \
  X(Log, log, 1, true)                     \
  X(Log2, log2, 1, true)                   \
  X(Sqrt, sqrt, 1, true)                   \
  X(Rsqrt, rsqrt, 1, true)                 \
  X(Sin, sin, 1, true)                     \
  X(Cos, cos, 1, true)                     \
  X(Tan, tan, 1, true)                     \
  X(Tanh, tanh, 1, true)                   \
  X(Sigmoid, sigmoid, 1, true)             \
  X(Relu, relu, 1, false)                  \
  X(Floor, floor, 1, false)                \
  X(Ceil, ceil, 1, false)                  \
  X(Round, round, 1, false)                \
  X(Square, square, 1, false)              \
  X(Sign, sign, 1, false)                  \
  X(Where, where, 3, false)                \
  X(Fma, fma, 3, false)                    \
  X(Clip, clip, 3, false)

enum class Opcode : std::uint8_t {
#define GPUOS_NAME_OPCODE(name, function, operands, floating) name,
  GPUOS_OPCODES(GPUOS_NAME_OPCODE)
#undef GPUOS_NAME_OPCODE
};

struct OpcodeInfo {
  std::string_view function;  // in gpuos::
  std::uint8_t operands;
  bool is_floating_only;
};

inline constexpr auto kOpcodes = std::to_array<OpcodeInfo>({
#define GPUOS_DESCRIBE_OPCODE(name, function, operands, floating) \
  {#function, operands, floating},
    GPUOS_OPCODES(GPUOS_DESCRIBE_OPCODE)
#undef GPUOS_DESCRIBE_OPCODE
});

constexpr const OpcodeInfo& info_of(Opcode opcode) noexcept {
  return kOpcodes[static_cast<std::size_t>(opcode)];
}

}  // namespace gpuos::expression
