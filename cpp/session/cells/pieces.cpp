#include "session/cells/pieces.h"

#include <algorithm>

#include "base/concat.h"
#include "session/cells/statements.h"

namespace gpuos::session {
namespace {

// The parentheses after these words hold no parameters.
constexpr std::string_view kTakeParentheses =
    "__align__ alignas __launch_bounds__ __cluster_dims__ __maxnreg__ "
    "__block_size__ __attribute__ decltype noexcept requires explicit sizeof";

bool takes_parentheses(const Token& token) {
  return token.is_any(kTakeParentheses);
}

bool is_class_key(const TokenList& tokens, std::size_t i) {
  return tokens.is_any(i, "struct class union enum");
}

class ShapeFinder {
 public:
  ShapeFinder(const TokenList& tokens, std::size_t begin, std::size_t end,
              std::size_t wrapped)
      : tokens_(tokens), end_(end), wrapped_(wrapped), at_(begin) {
    shape_.begin = begin;
  }

  Shape run() {
    skip_template();
    shape_.start = at_;
    find_class();
    while (at_ < end_) {
      if (tokens_[at_].kind == TokenKind::Directive) {
        tokens_.fail(at_, "expected the end of a definition before this line");
      }
      if (tokens_.is(at_, ";")) return finish(at_ + 1);
      if (tokens_.is(at_, "{") && is_body()) {
        shape_.body = at_;
        return finish(tokens_.behind(at_));
      }
      if (tokens_.is(at_, "try") && is_body()) return finish(behind_try());
      step();
    }
    tokens_.fail(
        shape_.begin,
        concat("expected a ';' at the end of '",
               tokens_.plain(shape_.begin, std::min(shape_.begin + 6, end_)),
               " ...', got the end of the cell"));
  }

 private:
  Shape finish(std::size_t end) {
    shape_.end = end;
    return std::move(shape_);
  }

  void skip_template() {
    while (tokens_.is(at_, "template")) {
      shape_.is_template = true;
      ++at_;
      if (tokens_.is(at_, "<")) at_ = tokens_.behind_angles(at_);
      if (tokens_.is(at_, "requires")) skip_constraint();
    }
  }

  // Skips "requires (N > 1) && A<T>" and "requires requires(T a) { a + 1; }".
  void skip_constraint() {
    do {
      while (tokens_.is(at_, "requires") || is_joined()) ++at_;
      if (tokens_.is(at_, "(")) {
        at_ = tokens_.behind(at_);
        if (tokens_.is(at_, "{")) at_ = tokens_.behind(at_);
        continue;
      }
      while (tokens_.is_identifier(at_) || tokens_.is(at_, "::")) {
        const bool is_name = tokens_.is_identifier(at_++);
        if (is_name && tokens_.is(at_, "<") && tokens_.behind_angles(at_) > at_)
          at_ = tokens_.behind_angles(at_);
        if (is_name && !tokens_.is(at_, "::")) break;
      }
    } while (is_joined());
  }

  bool is_joined() const {
    return (tokens_.is(at_, "&") && tokens_.is(at_ + 1, "&")) ||
           (tokens_.is(at_, "|") && tokens_.is(at_ + 1, "|")) ||
           (at_ > 0 && tokens_.is_any(at_, "& |") &&
            tokens_.is(at_ - 1, tokens_[at_].text));
  }

  // Finds "struct S {", "enum class E : int {" and "struct S;", but not "struct
  // S f()".
  void find_class() {
    std::size_t i = at_;
    while (tokens_.is_identifier(i) && !is_class_key(tokens_, i)) ++i;
    if (i >= end_ || !is_class_key(tokens_, i)) return;
    std::size_t j = i + 1;
    while (j < end_ && !tokens_.is(j, "{") && !tokens_.is(j, ":") &&
           !tokens_.is(j, ";")) {
      if (tokens_.is(j, "<") && tokens_.behind_angles(j) > j) {
        j = tokens_.behind_angles(j);
      } else if (tokens_.is_any(j, "( [")) {
        if (tokens_.is(j, "(") && !takes_parentheses(tokens_[j - 1])) return;
        j = tokens_.behind(j);
      } else if (tokens_.is_identifier(j) || tokens_.is(j, "::")) {
        ++j;
      } else {
        return;
      }
    }
    // "struct S x;" declares a variable.
    const bool has_variable =
        tokens_.is(j, ";") && j > i + 2 && tokens_.is_identifier(j - 1) &&
        tokens_.is_identifier(j - 2) && !is_class_key(tokens_, j - 2);
    const bool names_other =  // "typedef struct S x;"
        tokens_.is(at_, "typedef") && !tokens_.is(j, "{") &&
        !tokens_.is(j, ":");
    if (has_variable || names_other) return;
    shape_.class_key = i;
    shape_.has_class_key = true;
    while (j < end_ && !tokens_.is(j, "{") && !tokens_.is(j, ";")) ++j;
    if (tokens_.is(j, "{")) shape_.class_body = j;
  }

  bool is_body() const {
    const bool is_list =  // "T x(3), y{4};"
        !shape_.commas.empty() && shape_.commas.back() > shape_.parameters;
    return !shape_.is_class() && shape_.parameters != 0 &&
           shape_.initializer == 0 && !is_list;
  }

  // Returns the index after "try : x_(x) { ... } catch (...) { ... }" of a
  // function.
  std::size_t behind_try() {
    shape_.body = at_++;
    if (tokens_.is(at_, ":")) skip_initialisers();
    if (!tokens_.is(at_, "{"))
      tokens_.fail(shape_.body, "expected '{' after try");
    std::size_t end = tokens_.behind(at_);
    while (tokens_.is(end, "catch") && tokens_.is(end + 1, "(") &&
           tokens_.is(tokens_.behind(end + 1), "{"))
      end = tokens_.behind(tokens_.behind(end + 1));
    return end;
  }

  // Skips ": x_(x), y_{y}" of a constructor.
  void skip_initialisers() {
    ++at_;
    while (at_ < end_ && !tokens_.is(at_, "{") && !tokens_.is(at_, ";")) {
      while (tokens_.is_identifier(at_) || tokens_.is(at_, "::")) ++at_;
      at_ = tokens_.behind_angles(at_);
      if (tokens_.is_any(at_, "( {")) at_ = tokens_.behind(at_);
      if (!tokens_.is(at_, ",")) return;
      ++at_;
    }
  }

  void step() {
    const std::size_t i = at_;
    if (tokens_.is(i, ":") && shape_.parameters != 0 &&
        shape_.initializer == 0 && !shape_.is_class()) {
      skip_initialisers();
    } else if (tokens_.is(i, "(")) {
      see_parentheses();
    } else if (tokens_.is(i, "{")) {
      if (shape_.initializer == 0) shape_.initializer = i;
      at_ = tokens_.behind(i);
    } else if (tokens_.is(i, "[")) {
      at_ = tokens_.behind(i);
    } else if (tokens_.is(i, "<") && shape_.initializer == 0 &&
               i > shape_.start && tokens_.is_identifier(i - 1) &&
               !tokens_.is(i - 1, "operator") && tokens_.behind_angles(i) > i) {
      at_ = tokens_.behind_angles(i);
    } else if (shape_.initializer != 0 && behind_arguments(tokens_, i) > i) {
      at_ = behind_arguments(tokens_, i);
    } else {
      see_token();
      ++at_;
    }
  }

  void see_token() {
    const bool is_operator =  // "operator=", "operator+=", "operator<<="
        tokens_.is(at_ - 1, "operator") || tokens_.is(at_ - 2, "operator") ||
        (tokens_.is(at_ - 3, "operator") &&
         tokens_.is(at_ - 1, tokens_[at_ - 2].text));
    if (tokens_.is(at_, "<<<") && shape_.launch == 0) shape_.launch = at_;
    const bool is_special =  // "A::~A() = default;"
        tokens_.is_any(at_ + 1, "default delete");
    if (tokens_.is(at_, "=") && shape_.parameters != 0 && is_special &&
        tokens_.is(at_ + 2, ";")) {
      shape_.body = at_;
      return;
    }
    if (tokens_.is(at_, "=") && shape_.initializer == 0 && !is_operator)
      shape_.initializer = at_;
    if (tokens_.is(at_, ",") && shape_.launch == 0)
      shape_.commas.push_back(at_);
  }

  // Returns whether '(' follows a name, as in "T x(&y)" and "T* x(&y)". It does
  // not in "T (&x)[2]" and "const T (*f)(int)".
  bool follows_name(std::size_t open) const {
    if (open < shape_.start + 2 || !tokens_.is_identifier(open - 1) ||
        begins_declaration(tokens_[open - 1].text))
      return false;
    const Token& type = tokens_[open - 2];
    return type.is("*") || type.is("&") || type.is(">") ||
           (type.is_identifier() &&
            (is_type_word(type.text) || !begins_declaration(type.text)));
  }

  void see_parentheses() {
    const std::size_t open = at_;
    at_ = tokens_.behind(open);
    if (shape_.initializer != 0 || shape_.parameters != 0 || open == wrapped_ ||
        shape_.launch != 0)
      return;
    const Token& before = tokens_[open - 1];
    if (before.is("operator")) return;                        // operator()(...)
    if (takes_parentheses(before) || before.is(",")) return;  // "x, (y)"
    if (behind_marks(tokens_, open + 1) > open + 1 &&
        !tokens_.is(open + 1, "const") && !follows_name(open)) {
      if (shape_.group == 0) shape_.group = open;
      // "int (&f(int a))[2]"
      const std::size_t name = behind_marks(tokens_, open + 1);
      if (shape_.group == open && tokens_.is_identifier(name) &&
          tokens_.is(name + 1, "("))
        shape_.parameters = name + 1;
      return;
    }
    if (shape_.group == 0) shape_.parameters = open;
  }

  const TokenList& tokens_;
  std::size_t end_;
  std::size_t wrapped_;
  std::size_t at_;
  Shape shape_;
};

}  // namespace

std::size_t TokenList::behind_angles(std::size_t i) const {
  if (!is(i, "<")) return i;
  int depth = 0;
  for (std::size_t j = i; j < size();) {
    if (is_any(j, "( [ {")) {
      j = behind(j);
      continue;
    }
    if (is_any(j, "; ) }")) return i;
    if (is(j, "<")) ++depth;
    if (is(j, ">")) --depth;
    if (is(j, ">>>")) depth -= 3;
    ++j;
    if (depth <= 0) return j;
  }
  return i;
}

// "int a = b < c, d = e > f;" compares, because arguments have no '='.
std::size_t behind_arguments(const TokenList& tokens, std::size_t i) {
  if (!tokens.is(i, "<") || i == 0 || !tokens.is_identifier(i - 1)) return i;
  const std::size_t end = tokens.behind_angles(i);
  for (std::size_t j = i; j < end;) {
    const bool is_one = tokens.is(j, "=") && !tokens.is(j - 1, "=") &&
                        !tokens.is(j - 1, "!") && !tokens.is(j - 1, "<") &&
                        !tokens.is(j - 1, ">") && !tokens.is(j + 1, "=");
    if (is_one) return i;
    j = tokens.next(j);
  }
  const bool has_operand =
      tokens.is_identifier(end) || tokens.is_any(end, "= -") ||
      (end < tokens.size() && tokens[end].kind == TokenKind::Number);
  return has_operand ? i : end;
}

std::size_t behind_marks(const TokenList& tokens, std::size_t i) {
  while (true) {
    std::size_t member = i;
    while (tokens.is_identifier(member)) {
      ++member;
      member = tokens.behind_angles(member);
      if (!tokens.is(member, "::")) break;
      ++member;
    }
    const bool is_member =
        member > i && tokens.is(member - 1, "::") && tokens.is(member, "*");
    const bool is_mark = tokens.is_any(i, "* & const __restrict__");
    if (!is_member && !is_mark) return i;
    i = is_member ? member + 1 : i + 1;
  }
}

std::vector<TokenRange> split_commas(const TokenList& tokens, std::size_t begin,
                                     std::size_t end) {
  std::vector<TokenRange> found;
  for (std::size_t i = begin; i < end;) {
    if (tokens.is_any(i, "( [ {")) {
      i = tokens.behind(i);
    } else if (tokens.is(i, "<") && tokens.behind_angles(i) > i) {
      i = tokens.behind_angles(i);
    } else {
      if (tokens.is(i, ",")) {
        found.push_back({begin, i});
        begin = i + 1;
      }
      ++i;
    }
  }
  if (begin < end) found.push_back({begin, end});
  return found;
}

std::string TokenList::text(std::size_t begin, std::size_t end) const {
  if (begin >= end) return "";
  const Token& last = tokens_[end - 1];
  const std::size_t from = tokens_[begin].offset;
  return cell_.text.substr(from, last.end - from);
}

std::string TokenList::plain(std::size_t begin, std::size_t end) const {
  std::string text;
  for (std::size_t i = begin; i < end; ++i) {
    if (i > begin) text += ' ';
    text += tokens_[i].text;
  }
  return text;
}

void TokenList::fail(std::size_t i, const std::string& what) const {
  if (tokens_.empty()) fail_at(cell_, 1, 1, what);
  const Token& token = tokens_[std::min(i, tokens_.size() - 1)];
  fail_at(cell_, token.line, token.column, what);
}

Shape find_shape(const TokenList& tokens, std::size_t begin, std::size_t end,
                 std::size_t wrapped) {
  return ShapeFinder(tokens, begin, end, wrapped).run();
}

std::size_t find_class_name(const TokenList& tokens, const Shape& shape) {
  const std::size_t end =
      shape.class_body != 0 ? shape.class_body : shape.end - 1;
  std::size_t found = 0;
  for (std::size_t i = shape.class_key + 1; i < end;) {
    if (tokens.is_any(i, "< :")) break;
    if (tokens.is_identifier(i) && !is_keyword(tokens[i].text) &&
        !tokens.is(i, "__align__") && !tokens.is(i, "final"))
      found = i;
    i = tokens.is_any(i, "( [") ? tokens.behind(i) : i + 1;
  }
  return found;
}

}  // namespace gpuos::session
