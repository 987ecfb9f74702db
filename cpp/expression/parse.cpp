#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/c_text.h"
#include "base/concat.h"
#include "device/task_abi.h"
#include "expression/expression.h"
#include "expression/tree.h"
#include "gpuos/error.h"

namespace gpuos {
namespace expression {
namespace {

struct Token {
  enum class Kind : std::uint8_t { Name, Number, Symbol, End };
  Kind kind = Kind::End;
  std::string_view text;
  std::size_t column = 0;  // zero-based
};

std::size_t skip_digits(std::string_view text, std::size_t at) noexcept {
  while (at < text.size() && is_digit(text[at])) ++at;
  return at;
}

std::size_t skip_number(std::string_view text, std::size_t from) {
  std::size_t at = skip_digits(text, from);
  if (at < text.size() && text[at] == '.') at = skip_digits(text, at + 1);
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    std::size_t digits = at + 1;
    if (digits < text.size() && (text[digits] == '+' || text[digits] == '-')) {
      ++digits;
    }
    at = skip_digits(text, digits);
    if (at == digits) fail_at(text, at, "expected the digits of an exponent");
  }
  return at;
}

bool begins_number(std::string_view rest) noexcept {
  return is_digit(rest[0]) ||
         (rest[0] == '.' && rest.size() > 1 && is_digit(rest[1]));
}

std::size_t symbol_length(std::string_view rest) noexcept {
  static constexpr std::array<std::string_view, 8> kPairs{
      "**", "//", "<=", ">=", "==", "!=", "<<", ">>"};
  if (std::ranges::find(kPairs, rest.substr(0, 2)) != kPairs.end()) return 2;
  return std::string_view("+-*/%<>=(),&|^~").find(rest[0]) !=
                 std::string_view::npos
             ? 1
             : 0;
}

std::string describe_character(char c) {
  if (c > ' ' && c < '\x7f') return concat("'", c, "'");
  static constexpr std::string_view kHex = "0123456789ABCDEF";
  const auto byte = static_cast<unsigned char>(c);
  return concat("byte 0x", kHex[byte / 16], kHex[byte % 16]);
}

// Returns "'x'" or "the end", for messages.
std::string to_string(const Token& token) {
  if (token.kind == Token::Kind::End) return "the end";
  return concat("'", token.text, "'");
}

// Throws: InvalidArgument for a character that begins no token.
Token next_token(std::string_view text, std::size_t from) {
  while (from < text.size() && is_space(text[from])) ++from;
  if (from == text.size()) return {Token::Kind::End, {}, from};
  const std::string_view rest = text.substr(from);
  Token::Kind kind = Token::Kind::Symbol;
  std::size_t end = from;
  if (is_letter(rest[0])) {
    kind = Token::Kind::Name;
    end = end_of_name(text, from);
  } else if (begins_number(rest)) {
    kind = Token::Kind::Number;
    end = skip_number(text, from);
  } else {
    end = from + symbol_length(rest);
    if (end == from) {
      fail_at(text, from,
              concat("expected a name, a number or an operator, got ",
                     describe_character(rest[0])));
    }
  }
  return {kind, text.substr(from, end - from), from};
}

// Throws: InvalidArgument if the number is too large for every dtype.
Literal read_literal(std::string_view text, const Token& token) {
  const char* begin = token.text.data();
  const char* end = begin + token.text.size();
  Literal literal;
  const auto real = std::from_chars(begin, end, literal.real);
  if (real.ec != std::errc{}) {
    fail_at(text, token.column,
            concat("expected a number within float64, got ", token.text));
  }
  const auto whole = std::from_chars(begin, end, literal.magnitude);
  literal.is_whole = whole.ec == std::errc{} && whole.ptr == end;
  return literal;
}

constexpr int kMaxDepth = 200;

struct Symbol {
  std::string_view text;
  std::string_view function;
  int level;  // binds tighter when higher
};

// The comparisons and their precedence are Python's.
constexpr int kComparison = 1;
constexpr int kProduct = 7;
constexpr auto kSymbols = std::to_array<Symbol>({
    {"<", "less", kComparison},
    {"<=", "less_equal", kComparison},
    {">", "greater", kComparison},
    {">=", "greater_equal", kComparison},
    {"==", "equal", kComparison},
    {"!=", "not_equal", kComparison},
    {"|", "bitwise_or", 2},
    {"^", "bitwise_xor", 3},
    {"&", "bitwise_and", 4},
    {"<<", "left_shift", 5},
    {">>", "right_shift", 5},
    {"+", "add", 6},
    {"-", "subtract", 6},
    {"*", "multiply", kProduct},
    {"/", "divide", kProduct},
    {"//", "floor_divide", kProduct},
    {"%", "remainder", kProduct},
});

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
    if (token_.kind != Token::Kind::End)
      fail("expected an operator or the end");
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
      if (++depth_ > kMaxDepth)
        fail_at(parser.text_, parser.token_.column,
                concat("expected at most ", kMaxDepth, " levels of nesting"));
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
  bool take(std::string_view symbol) {
    if (!at(symbol)) return false;
    advance();
    return true;
  }

  [[noreturn]] void fail(std::string_view expected) const {
    fail_at(text_, token_.column,
            concat(expected, ", got ", to_string(token_)));
  }

  void expect(std::string_view symbol) {
    if (!take(symbol)) fail(concat("expected '", symbol, "'"));
  }

  void check_params() const {
    const auto& params = result_.params;
    for (auto it = params.begin(); it != params.end(); ++it) {
      if (!is_identifier(it->name))
        throw InvalidArgument(
            concat("expression: expected a name for a parameter, got '",
                   it->name, "'"));
      if (find_function(it->name) != nullptr)
        throw InvalidArgument(concat("expression: parameter '", it->name,
                                     "' has the name of a function"));
      if (std::find_if(params.begin(), it, [&](const Parameter& other) {
            return other.name == it->name;
          }) != it)
        throw InvalidArgument(
            concat("expression: parameter '", it->name, "' is declared twice"));
    }
  }

  std::optional<std::uint32_t> find_param(std::string_view name) const {
    const auto& params = result_.params;
    const auto found = std::ranges::find(params, name, &Parameter::name);
    if (found == params.end()) return std::nullopt;
    return static_cast<std::uint32_t>(found - params.begin());
  }

  void parse_output() {
    if (token_.kind != Token::Kind::Name)
      fail("expected the name of the output, as in 'o = a + b'");
    if (find_function(token_.text) != nullptr)
      fail("expected the name of the output, which is not a function's");
    if (find_param(token_.text))
      fail("expected the name of the output, which is not a parameter's");
    result_.output = token_.text;
    advance();
    expect("=");
  }

  void check_arguments() const {
    const std::size_t inputs = result_.inputs.size();
    const std::size_t params = result_.params.size();
    const std::size_t total = 1 + inputs + params;
    if (total > abi::kMaxArgs)
      throw InvalidArgument(concat("expression: expected at most ",
                                   abi::kMaxArgs, " arguments, got 1 output + ",
                                   inputs, " inputs + ", params,
                                   " parameters = ", total));
  }

  NodeIndex push(TreeNode node, std::size_t column) {
    if (tree_.nodes.size() == kMaxNodes)
      fail_at(text_, column,
              concat("expected at most ", kMaxNodes,
                     " operations, names and numbers"));
    node.column = static_cast<std::uint32_t>(column);
    tree_.nodes.push_back(node);
    return static_cast<NodeIndex>(tree_.nodes.size() - 1);
  }

  NodeIndex push_call(std::string_view function,
                      std::initializer_list<NodeIndex> operands,
                      std::size_t column) {
    TreeNode node{.kind = TreeNode::Kind::Call,
                  .function = find_function(function)};
    for (const NodeIndex operand : operands)
      node.operands[node.count++] = operand;
    return push(node, column);
  }

  const Symbol* find_symbol(int level) const noexcept {
    if (token_.kind != Token::Kind::Symbol) return nullptr;
    for (const Symbol& symbol : kSymbols)
      if (symbol.level == level && symbol.text == token_.text) return &symbol;
    return nullptr;
  }

  NodeIndex parse_level(int level) {
    if (level > kProduct) return parse_sign();
    NodeIndex left = parse_level(level + 1);
    bool is_compared = false;
    while (const Symbol* symbol = find_symbol(level)) {
      if (is_compared)
        fail("expected parentheses, because comparisons do not chain");
      is_compared = level == kComparison;
      const std::size_t column = token_.column;
      advance();
      const NodeIndex right = parse_level(level + 1);
      left = push_call(symbol->function, {left, right}, column);
    }
    return left;
  }

  NodeIndex parse_sign() {
    const bool inverts = at("~");
    if (!inverts && !at("-")) return parse_power();
    const Nesting nesting(*this);
    const std::size_t column = token_.column;
    advance();
    const NodeIndex operand = parse_sign();
    if (inverts) return push_call("invert", {operand}, column);
    TreeNode& last = tree_.nodes[operand];
    // The lowest integer fits its dtype only together with its sign.
    if (last.kind == TreeNode::Kind::Literal) {
      last.literal.is_negative = !last.literal.is_negative;
      return operand;
    }
    return push_call("negative", {operand}, column);
  }

  NodeIndex parse_power() {
    const NodeIndex base = parse_operand();
    if (!at("**")) return base;
    const Nesting nesting(*this);
    const std::size_t column = token_.column;
    advance();
    const NodeIndex exponent = parse_sign();
    return push_call("power", {base, exponent}, column);
  }

  NodeIndex parse_operand() {
    const std::size_t column = token_.column;
    if (token_.kind == Token::Kind::Number) {
      TreeNode node{.kind = TreeNode::Kind::Literal};
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
    if (const NamedFunction* function = find_function(name.text)) {
      advance();
      return parse_call(name, *function);
    }
    if (name.text == result_.output)
      fail_at(text_, name.column,
              concat("expected an input, got the output '", name.text,
                     "'; give it another name and pass the same buffer"));
    advance();
    if (at("("))
      fail_at(text_, name.column,
              concat("expected one of ", function_names(), ", got '", name.text,
                     "'"));
    if (const auto param = find_param(name.text)) {
      TreeNode node{.kind = TreeNode::Kind::Param};
      node.index = *param;
      return push(node, name.column);
    }
    TreeNode node{.kind = TreeNode::Kind::Input};
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

  NodeIndex parse_call(const Token& name, const NamedFunction& function) {
    const Nesting nesting(*this);
    if (!at("(")) fail(concat("expected '(' after function ", name.text));
    advance();
    TreeNode node{.kind = TreeNode::Kind::Call, .function = &function};
    std::size_t count = 0;
    std::optional<Reduced> reduced;
    while (!at(")")) {
      if (count > 0 && !take(",")) fail("expected ',' or ')'");
      if (is_keyword()) {
        if (function.over == nullptr || count != 1)
          fail("expected an operand, no keyword of reductions");
        parse_keyword(reduced ? *reduced : reduced.emplace());
        continue;
      }
      if (reduced) fail("expected ')', operands come before axis and keepdims");
      const NodeIndex operand = parse_level(kComparison);
      if (count < node.operands.size()) node.operands[count] = operand;
      ++count;
    }
    advance();
    node.count = static_cast<std::uint8_t>(std::min<std::size_t>(count, 4));
    const bool reduces = function.over != nullptr && count == 1;
    if (!reduces && (count < function.least || count > function.most ||
                     function.of == nullptr))
      fail_at(text_, name.column, concat(takes(function), ", got ", count));
    if (reduces) {
      node.index = static_cast<std::uint32_t>(tree_.reduced.size());
      tree_.reduced.push_back(reduced.value_or(Reduced{}));
    }
    return push(node, name.column);
  }

  static std::string takes(const NamedFunction& function) {
    const unsigned least = function.over != nullptr ? 1u : function.least;
    const unsigned most = function.of != nullptr ? function.most : 1u;
    return concat(function.name, " takes ", least,
                  least == most ? "" : concat(" to ", most),
                  most == 1 ? " argument" : " arguments");
  }

  bool is_keyword() const {
    return token_.kind == Token::Kind::Name &&
           (token_.text == "axis" || token_.text == "keepdims") &&
           next_token(text_, position_).text == "=";
  }

  void parse_keyword(Reduced& reduced) {
    const bool is_axis = token_.text == "axis";
    advance();
    expect("=");
    if (!is_axis) {
      if (token_.text != "True" && token_.text != "False")
        fail("expected True or False");
      reduced.keepdims = token_.text == "True";
      advance();
      return;
    }
    reduced.axes.emplace();
    if (!take("(")) {
      reduced.axes->push_back(parse_axis());
      return;
    }
    while (!take(")")) {
      reduced.axes->push_back(parse_axis());
      if (!at(")")) expect(",");
    }
  }

  int parse_axis() {
    const bool is_negative = take("-");
    if (token_.kind != Token::Kind::Number)
      fail("expected the number of an axis");
    const Literal number = read_literal(text_, token_);
    if (!number.is_whole || number.magnitude > kMaxDims)
      fail(concat("expected an axis of at most ", kMaxDims));
    advance();
    const int axis = static_cast<int>(number.magnitude);
    return is_negative ? -axis : axis;
  }

  std::string_view text_;
  std::size_t position_ = 0;
  Token token_;
  int depth_ = 0;
  Expression result_;
  Tree tree_;
};

}  // namespace

void fail_at(std::string_view text, std::size_t column,
             const std::string& message) {
  constexpr std::size_t kShown = 72;
  const std::size_t begin = column > kShown / 2 ? column - kShown / 2 : 0;
  std::string excerpt(text.substr(std::min(begin, text.size()), kShown));
  for (char& c : excerpt) {
    if (c < ' ' || c > '~') c = ' ';
  }
  throw InvalidArgument(concat("expression: column ", column + 1, ": ", message,
                               "\n  ", excerpt, "\n  ",
                               std::string(column - begin, ' '), "^"));
}

}  // namespace expression

Expression parse_expression(std::string_view text,
                            std::span<const Parameter> params,
                            std::span<const std::string> inputs) {
  return expression::Parser(text, params, inputs).parse();
}

}  // namespace gpuos
