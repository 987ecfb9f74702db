#include "session/cells/statements.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/concat.h"

namespace gpuos::session {
namespace {

constexpr std::string_view kBeginStatements =
    "for while do if switch try return throw goto break continue delete new "
    "sizeof this true false nullptr static_cast const_cast reinterpret_cast "
    "dynamic_cast typeid co_await asm";

// These words begin a type, or come before one.
constexpr std::string_view kBeginDeclarations =
    "using namespace typedef struct class union enum template extern static "
    "inline constexpr consteval constinit const volatile thread_local auto "
    "typename decltype void bool char short int long float double signed "
    "unsigned wchar_t char8_t char16_t char32_t alignas explicit virtual "
    "friend mutable register concept requires operator static_assert "
    "__attribute__ __device__ __global__ __host__ __constant__ __shared__ "
    "__managed__ __align__ __launch_bounds__ __forceinline__ __inline__ "
    "__noinline__";

constexpr std::string_view kTypes =
    "auto decltype void bool char short int long float double signed unsigned "
    "wchar_t char8_t char16_t char32_t";

constexpr std::string_view kClassKeys = "struct class union enum";

// These words begin a declaration of neither a variable nor a function.
constexpr std::string_view kBeginOthers =
    "using namespace template operator static_assert concept requires";

bool is_plain_name(const TokenList& tokens, std::size_t i) {
  return tokens.is_identifier(i) &&
         !is_one_of(kBeginStatements, tokens[i].text);
}

struct QualifiedName {
  std::string first;  // the part before all "::"
  std::size_t end = 0;
  std::string last{};
  std::string before_last{};
  bool is_special = false;  // a destructor or an operator
};

// Reads "::a::b<int>::c".
QualifiedName read_name(const TokenList& tokens, std::size_t i) {
  QualifiedName name;
  if (tokens.is(i, "::")) ++i;
  name.first = tokens.is_identifier(i) ? tokens[i].text : "";
  while (tokens.is_identifier(i)) {
    name.before_last = std::move(name.last);
    name.last = tokens[i].text;
    ++i;
    // "<<" does not begin a list of arguments.
    if (tokens.is(i, "<") && !tokens.is(i + 1, "<") &&
        tokens.behind_angles(i) > i)
      i = tokens.behind_angles(i);
    if (!tokens.is(i, "::")) break;
    ++i;
    name.is_special |= tokens.is_any(i, "~ operator");
    if (name.is_special) break;
  }
  name.end = i;
  return name;
}

std::string joined_text(const TokenList& tokens, std::size_t begin,
                        std::size_t end) {
  std::string text = tokens.plain(begin, end);
  std::erase(text, ' ');
  return text;
}

bool is_label(const TokenList& tokens, std::size_t i) {
  return is_plain_name(tokens, i) && !begins_declaration(tokens[i].text) &&
         !tokens.is(i, "default") && tokens.is(i + 1, ":");
}

bool ends_declarator(const TokenList& tokens, std::size_t i) {
  return tokens.is_any(i, "= ; , ( [ {");
}

// Returns whether the text is "T* p = ...". "a * b;" is a product.
bool is_pointer_declaration(const TokenList& tokens, std::size_t i) {
  i = behind_marks(tokens, i);
  if (tokens.is(i, "operator")) return true;
  if (!is_plain_name(tokens, i)) return false;
  const QualifiedName name = read_name(tokens, i);
  return name.is_special || ends_declarator(tokens, name.end);
}

// Returns whether the text is "(*f)(int)", "(&a)[2]" or "(A::*m)() const", but
// not "f(&x)[0]".
bool is_group_declaration(const TokenList& tokens, std::size_t open,
                          const std::string& type, const KindOf& kind_of) {
  const std::size_t name = behind_marks(tokens, open + 1);
  const std::size_t behind = tokens.behind(open);
  if (name == open + 1 || !tokens.is_identifier(name)) return false;
  if (!tokens.is(behind, "(") && !tokens.is(behind, "["))
    return ends_declarator(tokens, behind) &&
           kind_of(type, false) == NameKind::Type;
  const NameKind kind = kind_of(type, true);
  return kind == NameKind::Type || tokens.is(behind, "(");
}

bool begins_type(const TokenList& tokens, std::size_t i,
                 const KindOf& kind_of) {
  const QualifiedName name = read_name(tokens, i);
  if (name.end == i || name.first.empty()) return false;
  const std::size_t next = name.end;
  if (name.is_special) return true;
  const bool is_one = next == i + 1;
  if (is_one && kind_of(name.first, false) == NameKind::Value) return false;
  if (is_plain_name(tokens, next)) return true;
  const std::string text = joined_text(tokens, i, next);
  if (tokens.is(next, "(")) {
    if (name.last == name.before_last) return true;  // P::P(...)
    return is_group_declaration(tokens, next, text, kind_of);
  }
  if (!tokens.is(next, "*") && !tokens.is(next, "&")) return false;
  if (!is_pointer_declaration(tokens, next)) return false;
  // "a * b;" may compute, but "T* p = q;" does not.
  const std::size_t declared = behind_marks(tokens, next);
  const bool is_clear = tokens.is(declared, "operator") ||
                        tokens.is(read_name(tokens, declared).end, "=");
  return is_clear || kind_of(text, true) != NameKind::Value;
}

class StatementEnd {
 public:
  StatementEnd(const TokenList& tokens, std::size_t end)
      : tokens_(tokens), end_(end) {}

  std::size_t behind(std::size_t i) {
    constexpr int kDeepest = 256;
    if (++depth_ > kDeepest)
      tokens_.fail(i, concat("expected at most ", kDeepest,
                             " statements within each other, got more"));
    const std::size_t found = find(i);
    --depth_;
    return found;
  }

 private:
  std::size_t find(std::size_t i) {
    if (tokens_.is(i, "{")) return tokens_.behind(i);
    if (tokens_.is(i, "if")) {
      i = behind(behind_condition(i));
      return tokens_.is(i, "else") ? behind(i + 1) : i;
    }
    if (tokens_.is_any(i, "for while switch"))
      return behind(behind_condition(i));
    if (tokens_.is(i, "do")) return behind_semicolon(behind(i + 1));
    if (tokens_.is(i, "try")) {
      i = behind(i + 1);
      while (tokens_.is(i, "catch")) i = behind(behind_condition(i));
      return i;
    }
    return behind_semicolon(i);
  }

  // Returns the index after "if constexpr (...)".
  std::size_t behind_condition(std::size_t i) const {
    std::size_t open = i + 1;
    if (tokens_.is(open, "constexpr")) ++open;
    if (!tokens_.is(open, "(") || open >= end_)
      tokens_.fail(i, concat("expected '(' after ", tokens_[i].text));
    return tokens_.behind(open);
  }

  std::size_t behind_semicolon(std::size_t begin) const {
    for (std::size_t i = begin; i < end_;) {
      if (tokens_.is(i, ";")) return i + 1;
      i = tokens_.next(i);
    }
    tokens_.fail(begin, concat("expected a ';' at the end of '",
                               tokens_.plain(begin, std::min(begin + 6, end_)),
                               " ...', got the end of the cell"));
  }

  const TokenList& tokens_;
  std::size_t end_;
  int depth_ = 0;
};

enum class Part : std::uint8_t { Parameter, Argument, Unknown };

Part part_if(bool is_argument) {
  return is_argument ? Part::Argument : Part::Parameter;
}

// Classifies the text between two commas. "3", "\"a\"", "[] {...}", "-x",
// "f(x)", "a.b" and a variable's name are arguments.
Part part_of(const TokenList& tokens, TokenRange range, const KindOf& kind_of,
             bool is_needed) {
  const auto [begin, end] = range;
  const Token& first = tokens[begin];
  if (first.kind == TokenKind::Number || first.kind == TokenKind::Text)
    return Part::Argument;
  // "int(3)" and "A(3)" convert, but "int (*f)(int)" and "A (&a)[2]" do not.
  const auto converts = [&](std::size_t open) {
    return tokens.is(open, "(") && !tokens.is(open + 1, "*") &&
           !tokens.is(open + 1, "&");
  };
  if (first.is("decltype")) {
    const std::size_t next = tokens.behind(begin + 1);
    return part_if(next < end && (converts(next) || tokens.is(next, "{")));
  }
  if (begins_declaration(first.text)) return part_if(converts(begin + 1));
  if (!tokens.is_identifier(begin) && !first.is("::"))
    return part_if(!first.is("."));  // of "..."
  if (is_one_of(kBeginStatements, first.text)) return Part::Argument;
  const std::size_t next = read_name(tokens, begin).end;
  const bool is_one = next == begin + 1;
  if (is_one && kind_of(first.text, false) == NameKind::Value)
    return Part::Argument;
  const auto part_of_name = [&] {
    const std::string name = joined_text(tokens, begin, next);
    const NameKind kind = kind_of(name, is_needed);
    return kind == NameKind::Unknown ? Part::Unknown
                                     : part_if(kind == NameKind::Value);
  };
  // "N" and "n::k" may be arguments, but "T" and "std::vector<T>" are not.
  if (next >= end) return part_of_name();
  if (is_plain_name(tokens, next)) return Part::Parameter;
  // "T()" is a function's type.
  if (tokens.is(next, "(") && next + 2 == end) return part_of_name();
  if (tokens.is(next, "(")) return part_if(converts(next));
  // "a * 2" is a product, but "T*" and "T* const" are types.
  const std::size_t operand = behind_marks(tokens, next);
  if (operand > next) {
    if (operand >= end || tokens.is(next, "const")) return Part::Parameter;
    if (tokens.is_identifier(operand)) return part_of_name();
    return part_if(!tokens.is(operand, "=") && !tokens.is(operand, "["));
  }
  if (tokens.is(next, "=")) return part_of_name();
  return part_if(!(tokens.is(next, ".") && tokens.is(next + 1, ".")));
}

}  // namespace

bool begins_declaration(std::string_view word) {
  return is_one_of(kBeginDeclarations, word);
}

bool is_type_word(std::string_view word) { return is_one_of(kTypes, word); }

bool begins_piece(std::string_view word) {
  return begins_declaration(word) || is_one_of(kBeginStatements, word);
}

bool is_deduction_guide(const TokenList& tokens, std::size_t i) {
  if (!tokens.is_identifier(i) || !tokens.is(i + 1, "(")) return false;
  const std::size_t arrow = tokens.behind(i + 1);
  return tokens.is(arrow, "->") && tokens.is(arrow + 1, tokens[i].text) &&
         tokens.is(arrow + 2, "<");
}

bool is_statement(const TokenList& tokens, std::size_t i,
                  const KindOf& kind_of) {
  const Token& first = tokens[i];
  if (first.kind == TokenKind::Number || first.kind == TokenKind::Text)
    return true;
  if (is_one_of(kBeginDeclarations, first.text)) return false;
  if (is_one_of(kBeginStatements, first.text)) return true;
  if (!first.is_identifier() && !first.is("::"))
    return !(first.is("[") && tokens.is(i + 1, "["));  // an attribute
  if (is_deduction_guide(tokens, i)) return false;
  if (begins_type(tokens, i, kind_of)) return false;
  const QualifiedName name = read_name(tokens, i);
  // "k<float><<<1, 1>>>(x);" is no expression, but "f(x)" and "f(), g();" are.
  if (tokens.is(name.end, "<<<")) return false;
  if (tokens.is(name.end, "(") && name.end == i + 1) {
    const std::size_t behind = tokens.behind(name.end);
    return behind != name.end + 2 || !tokens.is(behind, ";");
  }
  return true;
}

bool is_expression(const TokenList& tokens, std::size_t i) {
  constexpr std::string_view kOthers =
      "{ for while do if switch try return goto break continue asm case "
      "default";
  return !is_label(tokens, i) && !is_one_of(kOthers, tokens[i].text);
}

bool jumps(const TokenList& tokens, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) {
    const bool begins = i == begin || tokens.is_any(i - 1, "; { }");
    if (tokens.is(i, "goto") || (begins && is_label(tokens, i))) return true;
  }
  return false;
}

std::size_t find_wrapped_name(const TokenList& tokens, std::size_t i,
                              const KindOf& kind_of) {
  while (tokens.is(i, "template") && tokens.is(i + 1, "<"))
    i = tokens.behind_angles(i + 1);
  bool is_declared = false;
  bool has_type = false;
  for (; i < tokens.size() && begins_declaration(tokens[i].text); ++i) {
    if (is_one_of(kBeginOthers, tokens[i].text)) return 0;
    is_declared = true;
    has_type |= is_one_of(kTypes, tokens[i].text);
    if (is_one_of(kClassKeys, tokens[i].text) && tokens.is_identifier(i + 1))
      has_type = ++i > 0;
    const bool is_text = tokens.is(i, "extern") && i + 1 < tokens.size() &&
                         tokens[i + 1].kind == TokenKind::Text;
    const bool has_arguments =  // as in "alignas(8)"
        tokens.is(i + 1, "(") && (!has_type || tokens.is(i, "decltype"));
    if (has_arguments) i = tokens.behind(i + 1) - 1;
    if (is_text) ++i;
  }
  const QualifiedName name = read_name(tokens, i);
  const bool is_named = name.end > i &&
                        (tokens.is(i, "::") || is_plain_name(tokens, i)) &&
                        !name.is_special && name.last != name.before_last;
  if (!has_type && !is_named) return 0;
  const std::size_t open = has_type ? behind_marks(tokens, i) : name.end;
  if (!tokens.is(open, "(")) return 0;
  const std::size_t close = tokens.behind(open) - 1;
  std::size_t end = open + 2;
  while (tokens.is(end, "[")) end = tokens.behind(end);
  const bool is_wrapped = is_plain_name(tokens, open + 1) && end == close &&
                          !begins_declaration(tokens[open + 1].text) &&
                          ends_declarator(tokens, close + 1);
  if (!is_wrapped || has_type) return is_wrapped ? open : 0;
  const bool is_one = tokens.is(i, name.last);
  const NameKind kind =
      kind_of(is_one ? name.first : joined_text(tokens, i, open), false);
  if (kind == NameKind::Value) return 0;
  if (kind == NameKind::Type || is_declared) return open;
  // "free(p);" is a call, because it would declare p again.
  const std::string_view inner = tokens[open + 1].text;
  if (is_one &&
      (inner.starts_with("std") || kind_of(inner, false) == NameKind::Value))
    return 0;
  return kind_of(joined_text(tokens, i, open), true) == NameKind::Type ? open
                                                                       : 0;
}

std::size_t behind_statement(const TokenList& tokens, std::size_t i,
                             std::size_t end) {
  return StatementEnd(tokens, end).behind(i);
}

bool holds_arguments(const TokenList& tokens, std::size_t open,
                     const KindOf& kind_of) {
  const std::vector<TokenRange> ranges =
      split_commas(tokens, open + 1, tokens.behind(open) - 1);
  // If one part is known, all are. Otherwise the compiler decides.
  for (const bool is_needed : {false, true}) {
    std::set<Part> parts;
    for (const TokenRange range : ranges) {
      if (range.begin < range.end)
        parts.insert(part_of(tokens, range, kind_of, is_needed));
    }
    if (parts.contains(Part::Argument)) return true;
    if (parts.empty() || parts.contains(Part::Parameter)) return false;
  }
  return true;
}

}  // namespace gpuos::session
