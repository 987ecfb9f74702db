#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "base/concat.h"
#include "expression/opcodes.h"

namespace gpuos::expression {

struct Function {
  std::string_view name;
  Opcode opcode;
};

inline constexpr auto kFunctions = std::to_array<Function>({
    {"abs", Opcode::Abs},         {"ceil", Opcode::Ceil},
    {"clip", Opcode::Clip},       {"cos", Opcode::Cos},
    {"exp", Opcode::Exp},         {"exp2", Opcode::Exp2},
    {"floor", Opcode::Floor},     {"fma", Opcode::Fma},
    {"log", Opcode::Log},         {"log2", Opcode::Log2},
    {"max", Opcode::Maximum},     {"maximum", Opcode::Maximum},
    {"min", Opcode::Minimum},     {"minimum", Opcode::Minimum},
    {"pow", Opcode::Pow},         {"relu", Opcode::Relu},
    {"round", Opcode::Round},     {"rsqrt", Opcode::Rsqrt},
    {"sigmoid", Opcode::Sigmoid}, {"sign", Opcode::Sign},
    {"sin", Opcode::Sin},         {"sqrt", Opcode::Sqrt},
    {"square", Opcode::Square},   {"tan", Opcode::Tan},
    {"tanh", Opcode::Tanh},       {"where", Opcode::Where},
});

struct Operator {
  std::string_view symbol;
  Opcode opcode;
  int level;  // binds tighter when higher
};

inline constexpr int kComparison = 1;
inline constexpr int kSum = 2;
inline constexpr int kProduct = 3;

inline constexpr auto kOperators = std::to_array<Operator>({
    {"<", Opcode::Less, kComparison},
    {"<=", Opcode::LessEqual, kComparison},
    {">", Opcode::Greater, kComparison},
    {">=", Opcode::GreaterEqual, kComparison},
    {"==", Opcode::Equal, kComparison},
    {"!=", Opcode::NotEqual, kComparison},
    {"+", Opcode::Add, kSum},
    {"-", Opcode::Sub, kSum},
    {"*", Opcode::Mul, kProduct},
    {"/", Opcode::Div, kProduct},
    {"//", Opcode::FloorDiv, kProduct},
    {"%", Opcode::FloorMod, kProduct},
});

inline std::optional<Opcode> find_function(std::string_view name) noexcept {
  const auto* found = std::ranges::find(kFunctions, name, &Function::name);
  if (found == kFunctions.end()) return std::nullopt;
  return found->opcode;
}

inline std::string function_names() {
  std::string names;
  for (const Function& function : kFunctions) {
    names += concat(names.empty() ? "" : ", ", function.name);
  }
  return names;
}

}  // namespace gpuos::expression
