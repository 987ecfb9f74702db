#include <algorithm>
#include <array>
#include <optional>

#include "base/concat.h"
#include "device/task_abi.h"
#include "expression/expression.h"
#include "expression/grammar.h"
#include "expression/lexer.h"
#include "expression/tree.h"
#include "gpuos/error.h"

namespace gpuos {
namespace expression {
namespace {

constexpr int kMaxDepth = 200;

class Parser {
 public:
  Parser(std::string_view text, std::span<const Parameter> params,
         std::span<const std::string> known_inputs)
      : text_(text) {
    result_.params.assign(params.begin(), params.end());
    result_.inputs.assign(known_inputs.begin(), known_inputs.end());
    tree_.text = text;
    advance();
  }

  Expression parse() {
    check_params();
    parse_output();
    parse_level(kComparison);
    if (token_.kind != Token::Kind::End) {
      fail("expected an operator or the end");
    }
    check_arguments();
    result_.tree = std::make_shared<const Tree>(std::move(tree_));
    return std::move(result_);
  }

 private:
  using NodeIndex = std::uint32_t;

  // Counts how deep the parser calls itself.
  class Nesting {
   public:
    explicit Nesting(Parser& parser) : depth_(parser.depth_) {
      if (++depth_ > kMaxDepth) {
        fail_at(parser.text_, parser.token_.column,
                concat("expected at most ", kMaxDepth, " levels of nesting"));
      }
    }
    ~Nesting() { --depth_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

   private:
    int& depth_;
  };

  void advance() {
    token_ = next_token(text_, position_);
    position_ = token_.column + token_.text.size();
  }

  bool at(std::string_view symbol) const noexcept {
    return token_.kind == Token::Kind::Symbol && token_.text == symbol;
  }

  [[noreturn]] void fail(std::string_view expected) const {
    fail_at(text_, token_.column,
            concat(expected, ", got ", to_string(token_)));
  }

  void expect(std::string_view symbol) {
    if (!at(symbol)) fail(concat("expected '", symbol, "'"));
    advance();
  }

  void check_params() const {
    const auto& params = result_.params;
    for (auto it = params.begin(); it != params.end(); ++it) {
      if (!is_identifier(it->name)) {
        throw InvalidArgument(
            concat("expression: expected a name for a parameter, got '",
                   it->name, "'"));
      }
      if (find_function(it->name)) {
        throw InvalidArgument(concat("expression: parameter '", it->name,
                                     "' has the name of a function"));
      }
      if (std::find_if(params.begin(), it, [&](const Parameter& other) {
            return other.name == it->name;
          }) != it) {
        throw InvalidArgument(
            concat("expression: parameter '", it->name, "' is declared twice"));
      }
    }
  }

  std::optional<std::uint32_t> find_param(std::string_view name) const {
    const auto& params = result_.params;
    const auto found = std::ranges::find(params, name, &Parameter::name);
    if (found == params.end()) return std::nullopt;
    return static_cast<std::uint32_t>(found - params.begin());
  }

  void parse_output() {
    if (token_.kind != Token::Kind::Name) {
      fail("expected the name of the output, as in 'o = a + b'");
    }
    if (find_function(token_.text)) {
      fail("expected the name of the output, which is not a function's");
    }
    if (find_param(token_.text)) {
      fail("expected the name of the output, which is not a parameter's");
    }
    result_.output = token_.text;
    advance();
    expect("=");
  }

  void check_arguments() const {
    const std::size_t inputs = result_.inputs.size();
    const std::size_t params = result_.params.size();
    const std::size_t total = 1 + inputs + params;
    if (total > abi::kMaxArgs) {
      throw InvalidArgument(
          concat("expression: expected at most ", abi::kMaxArgs,
                 " arguments, got 1 "
                 "output + ",
                 inputs, " inputs + ", params, " parameters = ", total));
    }
  }

  NodeIndex push(Node node, std::size_t column) {
    if (tree_.nodes.size() == kMaxNodes) {
      fail_at(text_, column,
              concat("expected at most ", kMaxNodes,
                     " operations, names and numbers"));
    }
    node.column = static_cast<std::uint32_t>(column);
    tree_.nodes.push_back(node);
    return static_cast<NodeIndex>(tree_.nodes.size() - 1);
  }

  NodeIndex push_operation(Opcode opcode, std::array<NodeIndex, 3> operands,
                           std::size_t column) {
    Node node{.kind = Node::Kind::Operation};
    node.opcode = opcode;
    node.operands = operands;
    return push(node, column);
  }

  const Operator* find_operator(int level) const noexcept {
    if (token_.kind != Token::Kind::Symbol) return nullptr;
    for (const Operator& op : kOperators) {
      if (op.level == level && op.symbol == token_.text) return &op;
    }
    return nullptr;
  }

  NodeIndex parse_level(int level) {
    if (level > kProduct) return parse_negation();
    NodeIndex left = parse_level(level + 1);
    bool is_compared = false;
    while (const Operator* op = find_operator(level)) {
      if (is_compared) {
        fail("expected parentheses, because comparisons do not chain");
      }
      is_compared = level == kComparison;
      const std::size_t column = token_.column;
      advance();
      const NodeIndex right = parse_level(level + 1);
      left = push_operation(op->opcode, {left, right}, column);
    }
    return left;
  }

  NodeIndex parse_negation() {
    if (!at("-")) return parse_power();
    const Nesting nesting(*this);
    const std::size_t column = token_.column;
    advance();
    const NodeIndex operand = parse_negation();
    Node& last = tree_.nodes[operand];
    // The lowest integer is only within its dtype together with its sign.
    if (last.kind == Node::Kind::Literal) {
      last.literal.is_negative = !last.literal.is_negative;
      return operand;
    }
    return push_operation(Opcode::Neg, {operand}, column);
  }

  NodeIndex parse_power() {
    const NodeIndex base = parse_operand();
    if (!at("**")) return base;
    const Nesting nesting(*this);
    const std::size_t column = token_.column;
    advance();
    const NodeIndex exponent = parse_negation();
    return push_operation(Opcode::Pow, {base, exponent}, column);
  }

  NodeIndex parse_operand() {
    const std::size_t column = token_.column;
    if (token_.kind == Token::Kind::Number) {
      Node node{.kind = Node::Kind::Literal};
      node.literal = read_literal(text_, token_);
      advance();
      return push(node, column);
    }
    if (token_.kind == Token::Kind::Name) return parse_name();
    if (!at("(")) fail("expected an operand");
    const Nesting nesting(*this);
    advance();
    const NodeIndex inside = parse_level(kComparison);
    expect(")");
    return inside;
  }

  NodeIndex parse_name() {
    const Token name = token_;
    if (const auto opcode = find_function(name.text)) {
      advance();
      return parse_call(name, *opcode);
    }
    if (name.text == result_.output) {
      fail_at(text_, name.column,
              concat("expected an input, got the output '", name.text,
                     "'; give it another name and pass the same buffer"));
    }
    advance();
    if (at("(")) {
      fail_at(text_, name.column,
              concat("expected one of ", function_names(), ", got '", name.text,
                     "'"));
    }
    if (const auto param = find_param(name.text)) {
      Node node{.kind = Node::Kind::Param};
      node.index = *param;
      return push(node, name.column);
    }
    Node node{.kind = Node::Kind::Input};
    node.index = input_index(name.text);
    return push(node, name.column);
  }

  std::uint32_t input_index(std::string_view name) {
    auto& inputs = result_.inputs;
    const auto found = std::ranges::find(inputs, name);
    const auto index = static_cast<std::uint32_t>(found - inputs.begin());
    if (found == inputs.end()) inputs.emplace_back(name);
    return index;
  }

  NodeIndex parse_call(const Token& name, Opcode opcode) {
    const Nesting nesting(*this);
    if (!at("(")) fail(concat("expected '(' after function ", name.text));
    advance();
    const std::size_t expected = info_of(opcode).operands;
    std::array<NodeIndex, 3> operands{};
    std::size_t count = 0;
    while (!at(")")) {
      if (count > 0) {
        if (!at(",")) fail("expected ',' or ')'");
        advance();
      }
      const NodeIndex operand = parse_level(kComparison);
      if (count < operands.size()) operands[count] = operand;
      ++count;
    }
    advance();
    if (count != expected) {
      fail_at(text_, name.column,
              concat(name.text, " takes ", expected,
                     expected == 1 ? " argument, got " : " arguments, got ",
                     count));
    }
    return push_operation(opcode, operands, name.column);
  }

  std::string_view text_;
  std::size_t position_ = 0;
  Token token_;
  int depth_ = 0;
  Expression result_;
  Tree tree_;
};

}  // namespace
}  // namespace expression

Expression parse_expression(std::string_view text,
                            std::span<const Parameter> params,
                            std::span<const std::string> inputs) {
  return expression::Parser(text, params, inputs).parse();
}

}  // namespace gpuos
