#include "expression/lower.h"

#include <bit>
#include <limits>
#include <map>
#include <optional>

#include "base/concat.h"
#include "expression/tree.h"

namespace gpuos::expression {
namespace {

class Lowering {
 public:
  Lowering(const Tree& tree, DType dtype) : tree_(tree) {
    lowered_.dtype = dtype;
  }

  Lowered run() {
    std::vector<std::uint32_t> value_of;
    value_of.reserve(tree_.nodes.size());
    for (const Node& node : tree_.nodes) {
      value_of.push_back(intern(value_for(node, value_of)));
    }
    mark_used();
    return std::move(lowered_);
  }

 private:
  Value value_for(const Node& node,
                  const std::vector<std::uint32_t>& value_of) const {
    Value value{};
    switch (node.kind) {
      case Node::Kind::Input:
        value.kind = Value::Kind::Input;
        value.index = node.index;
        break;
      case Node::Kind::Param:
        value.kind = Value::Kind::Param;
        value.index = node.index;
        break;
      case Node::Kind::Literal:
        value.kind = Value::Kind::Constant;
        value.bits = bits_of(node);
        break;
      case Node::Kind::Operation:
        check_function(node);
        value.kind = Value::Kind::Operation;
        value.opcode = node.opcode;
        for (std::size_t k = 0; k < info_of(node.opcode).operands; ++k) {
          value.operands[k] = value_of[node.operands[k]];
        }
        if (const auto simple = simple_power(node)) {
          value.opcode = *simple;
          value.operands[1] = 0;
        }
        break;
    }
    return value;
  }

  // NumPy does the same; a general power costs many times as much, and host
  // compilers make a root of it, which differs for -inf.
  std::optional<Opcode> simple_power(const Node& node) const {
    if (node.opcode != Opcode::Pow) return std::nullopt;
    const Node& exponent = tree_.nodes[node.operands[1]];
    if (exponent.kind != Node::Kind::Literal || exponent.literal.is_negative) {
      return std::nullopt;
    }
    if (exponent.literal.real == 2) return Opcode::Square;
    if (exponent.literal.real == 0.5) return Opcode::Sqrt;
    return std::nullopt;
  }

  void check_function(const Node& node) const {
    const OpcodeInfo& info = info_of(node.opcode);
    if (!info.is_floating_only || is_floating()) return;
    fail_at(tree_.text, node.column,
            concat("expected floating buffers for ", info.function, ", got ",
                   name_of(lowered_.dtype)));
  }

  bool is_floating() const {
    return lowered_.dtype == DType::Float32 || lowered_.dtype == DType::Float64;
  }

  std::uint64_t bits_of(const Node& node) const {
    const Literal& literal = node.literal;
    const double real = literal.is_negative ? -literal.real : literal.real;
    switch (lowered_.dtype) {
      case DType::Float64:
        return std::bit_cast<std::uint64_t>(real);
      case DType::Float32:
        if (literal.real > std::numeric_limits<float>::max()) fail_fit(node);
        return std::bit_cast<std::uint32_t>(static_cast<float>(real));
      case DType::Int32:
        return static_cast<std::uint32_t>(
            whole_of(node, std::uint64_t{1} << 31));
      default:
        return whole_of(node, std::uint64_t{1} << 63);
    }
  }

  std::uint64_t whole_of(const Node& node, std::uint64_t limit) const {
    const Literal& literal = node.literal;
    if (!literal.is_whole ||
        literal.magnitude > limit - (literal.is_negative ? 0 : 1)) {
      fail_fit(node);
    }
    return literal.is_negative ? 0 - literal.magnitude : literal.magnitude;
  }

  [[noreturn]] void fail_fit(const Node& node) const {
    const Literal& literal = node.literal;
    const std::string number =
        literal.is_whole ? concat(literal.magnitude) : concat(literal.real);
    fail_at(tree_.text, node.column,
            concat("expected a number that fits ", name_of(lowered_.dtype),
                   ", got ", literal.is_negative ? "-" : "", number));
  }

  std::uint32_t intern(const Value& value) {
    const auto next = static_cast<std::uint32_t>(lowered_.values.size());
    const auto [found, is_new] = known_.try_emplace(value, next);
    if (is_new) lowered_.values.push_back(value);
    return found->second;
  }

  void mark_used() {
    const std::size_t count = lowered_.values.size();
    lowered_.is_used.assign(count, false);
    lowered_.is_uniform.assign(count, true);
    lowered_.is_used.back() = true;
    for (std::size_t i = 0; i < count; ++i) {
      const Value& value = lowered_.values[i];
      if (value.kind == Value::Kind::Input) lowered_.is_uniform[i] = false;
      if (value.kind != Value::Kind::Operation) continue;
      for (std::size_t k = 0; k < info_of(value.opcode).operands; ++k) {
        lowered_.is_used[value.operands[k]] = true;
        if (!lowered_.is_uniform[value.operands[k]]) {
          lowered_.is_uniform[i] = false;
        }
      }
    }
  }

  const Tree& tree_;
  Lowered lowered_;
  std::map<Value, std::uint32_t> known_;
};

}  // namespace

Lowered lower(const Expression& expression, DType dtype) {
  return Lowering(*expression.tree, dtype).run();
}

}  // namespace gpuos::expression
