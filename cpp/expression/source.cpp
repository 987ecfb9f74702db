#include <algorithm>
#include <bit>
#include <charconv>
#include <limits>

#include "base/concat.h"
#include "expression/expression.h"
#include "expression/lower.h"

namespace gpuos {
namespace expression {
namespace {

template <typename T>
std::string spell_real(T value, std::string_view suffix) {
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof(digits), value).ptr;
  std::string text(digits, end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return concat(text, suffix);
}

template <typename T>
std::string spell_whole(T value, std::string_view suffix) {
  // The lowest value has no literal of its own.
  if (value == std::numeric_limits<T>::min()) {
    return concat(value + 1, suffix, " - 1");
  }
  return concat(value, suffix);
}

std::string spell_constant(std::uint64_t bits, DType dtype) {
  const auto low = static_cast<std::uint32_t>(bits);
  switch (dtype) {
    case DType::Float32:
      return spell_real(std::bit_cast<float>(low), "f");
    case DType::Float64:
      return spell_real(std::bit_cast<double>(bits), "");
    case DType::Int32:
      return spell_whole(std::bit_cast<std::int32_t>(low), "");
    default:
      return spell_whole(std::bit_cast<std::int64_t>(bits), "LL");
  }
}

std::string spell_value(const Lowered& lowered, std::uint32_t at) {
  const Value& value = lowered.values[at];
  switch (value.kind) {
    case Value::Kind::Input:
      return concat("x[", value.index, "]");
    case Value::Kind::Param:
      return concat("p", value.index);
    case Value::Kind::Constant:
      return concat("T(", spell_constant(value.bits, lowered.dtype), ")");
    case Value::Kind::Operation:
      return concat("v", at);
  }
  return {};
}

std::string spell_operation(const Lowered& lowered, const Value& value) {
  const OpcodeInfo& info = info_of(value.opcode);
  std::string text = concat("gpuos::", info.function, "(");
  for (std::size_t k = 0; k < info.operands; ++k) {
    text += concat(k > 0 ? ", " : "", spell_value(lowered, value.operands[k]));
  }
  return text + ")";
}

std::string spell_params(const Expression& expression, const Lowered& lowered) {
  std::string text;
  for (std::size_t i = 0; i < lowered.values.size(); ++i) {
    const Value& value = lowered.values[i];
    if (value.kind != Value::Kind::Param) continue;
    const std::string_view type =
        cpp_name_of(expression.params[value.index].dtype);
    text += concat("  const T p", value.index, " = gpuos::convert<T>(",
                   "task.scalar<", type, ">(",
                   1 + expression.inputs.size() + value.index, "));\n");
  }
  return text;
}

std::string spell_body(const Lowered& lowered) {
  std::string text;
  const auto last = static_cast<std::uint32_t>(lowered.values.size() - 1);
  for (std::uint32_t i = 0; i < last; ++i) {
    const Value& value = lowered.values[i];
    if (value.kind != Value::Kind::Operation) continue;
    text += concat("        const T v", i, " = ",
                   spell_operation(lowered, value), ";\n");
  }
  const Value& result = lowered.values[last];
  const std::string value = result.kind == Value::Kind::Operation
                                ? spell_operation(lowered, result)
                                : spell_value(lowered, last);
  return text + concat("        return ", value, ";\n");
}

// A function that the device computes in many instructions.
bool is_costly(const Value& value) {
  if (value.kind != Value::Kind::Operation) return false;
  return info_of(value.opcode).is_floating_only ||
         value.opcode == Opcode::FloorDiv || value.opcode == Opcode::FloorMod ||
         value.opcode == Opcode::Pow || value.opcode == Opcode::Div;
}

std::string_view spell_unroll(const Lowered& lowered) {
  constexpr std::size_t kManyValues = 24;
  return lowered.values.size() > kManyValues ||
                 std::ranges::any_of(lowered.values, is_costly)
             ? ", 1"
             : "";
}

}  // namespace
}  // namespace expression

std::string expression_source(const Expression& expression, DType dtype,
                              std::string_view entry) {
  using namespace expression;
  const Lowered lowered = lower(expression, dtype);
  std::string inputs;
  for (std::size_t k = 1; k <= expression.inputs.size(); ++k) {
    inputs += concat(",\n      task.pointer<const T>(", k, ")");
  }
  return concat(
      "#include \"gpuos/map.h\"\n"
      "#include \"gpuos/math.h\"\n\n"
      "GPUOS_OPERATOR(",
      entry,
      ") {\n"
      "  using T = ",
      cpp_name_of(dtype), ";\n", spell_params(expression, lowered),
      "  gpuos::map<T", spell_unroll(lowered),
      ">(\n"
      "      task.pointer<T>(0), task.count, lane,\n"
      "      [=]([[maybe_unused]] const T* x) -> T {\n",
      spell_body(lowered), "      }", inputs,
      ");\n"
      "}\n");
}

}  // namespace gpuos
