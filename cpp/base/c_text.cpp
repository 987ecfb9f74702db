#include "base/c_text.h"

#include <algorithm>
#include <array>

#include "base/concat.h"

namespace gpuos {
namespace {

constexpr std::string_view kBlank = " \t\r\v\f";

// Where a line, a comment or a text may begin.
constexpr auto kMarks = [] {
  std::array<bool, 256> marks{};
  for (const unsigned char c : {'\n', '/', '"', '\'', '\\'}) marks[c] = true;
  return marks;
}();

bool is_joined(std::string_view line) {
  const std::size_t last = line.find_last_not_of(kBlank);
  return last != line.npos && line[last] == '\\';
}

bool continues(char c) { return is_letter(c) || is_digit(c); }

}  // namespace

std::size_t end_of_name(std::string_view text, std::size_t at) noexcept {
  while (at < text.size() && continues(text[at])) ++at;
  return at;
}

bool is_identifier(std::string_view text) noexcept {
  return !text.empty() && is_letter(text[0]) &&
         end_of_name(text, 0) == text.size();
}

bool is_one_of(std::string_view words, std::string_view word) noexcept {
  for (std::size_t at = words.find(word); at != words.npos;
       at = words.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || words[at - 1] == ' ') &&
        (end == words.size() || words[end] == ' '))
      return !word.empty();
  }
  return false;
}

bool has_name(std::string_view text, std::string_view word) noexcept {
  for (std::size_t at = text.find(word); at != text.npos;
       at = text.find(word, at + 1)) {
    if ((at == 0 || !continues(text[at - 1])) &&
        end_of_name(text, at) == at + word.size())
      return true;
  }
  return false;
}

std::string_view cut_until(std::string_view& rest, char end) noexcept {
  const std::string_view part = rest.substr(0, rest.find(end));
  rest.remove_prefix(std::min(part.size() + 1, rest.size()));
  return part;
}

std::string join_lines(std::string_view text) {
  std::string joined;
  joined.reserve(text.size());
  while (!text.empty()) {
    const std::string_view line = cut_until(text, '\n');
    if (is_joined(line))
      joined += line.substr(0, line.find_last_of('\\'));
    else
      joined.append(line).push_back('\n');
  }
  return joined;
}

CToken CScanner::token(std::size_t begin, CTokenKind kind) {
  is_line_begin_ = false;
  suffix_ = std::min(suffix_, at_);
  return {kind, text_.substr(begin, at_ - begin),
          text_.substr(suffix_, at_ - suffix_)};
}

CToken CScanner::next() {
  skip_blanks(false);
  const std::size_t begin = at_;
  suffix_ = text_.size();
  return token(begin, read());
}

CToken CScanner::next_directive() {
  while (at_ < text_.size()) {
    if (is_line_begin_) skip_blanks(false);
    const std::size_t begin = at_;
    suffix_ = text_.size();
    if (begins_directive()) return token(begin, read_directive());
    is_line_begin_ = false;
    const char* const end = text_.data() + text_.size();
    const char* mark = text_.data() + at_;
    while (mark != end && !kMarks[static_cast<unsigned char>(*mark)]) ++mark;
    at_ = static_cast<std::size_t>(mark - text_.data());
    if (at_ == text_.size()) break;
    const char c = text_[at_];
    if (c == '/' && !skip_comment()) {
      if (starts_with("/*")) return next();
      ++at_;
    } else if (c == '\\') {
      at_ += std::max<std::size_t>(splice(at_), 1);
    } else if (c == '\n') {
      is_line_begin_ = true;
      ++at_;
    } else if (c != '/' && read_literal() == CTokenKind::OpenRaw) {
      return token(begin, CTokenKind::OpenRaw);
    }
  }
  return {};
}

// Reads the token of this quote: a string with its prefix, or a number.
CTokenKind CScanner::read_literal() {
  const std::size_t quote = at_;
  while (at_ > 0 && continues_name(text_[at_ - 1])) --at_;
  const CTokenKind kind = read();
  return at_ > quote ? kind : read_quoted();
}

// Returns the length of a backslash at `at` with the end of its line. Otherwise
// returns 0.
std::size_t CScanner::splice(std::size_t at) const {
  if (text_[at] != '\\') return 0;
  const std::size_t end = text_.find_first_not_of(kBlank, at + 1);
  return end != text_.npos && text_[end] == '\n' ? end + 1 - at : 0;
}

// Skips blanks, comments and splices.
void CScanner::skip_blanks(bool is_in_line) {
  for (; at_ < text_.size(); ++at_) {
    const char c = text_[at_];
    if (c == ' ') continue;
    if (c > ' ' && c != '/' && c != '\\') return;
    if (c == '\n') {
      if (is_in_line) return;
      is_line_begin_ = true;
    } else if (c == '/') {
      if (!skip_comment()) return;
      --at_;
    } else if (const std::size_t length = splice(at_); length != 0) {
      at_ += length - 1;
    } else if (!is_space(c)) {
      return;
    }
  }
}

// Returns false if none begins here, or one without an end.
bool CScanner::skip_comment() {
  if (peek(1) == '*') {
    const std::size_t end = text_.find("*/", at_ + 2);
    if (end != text_.npos) at_ = end + 2;
    return end != text_.npos;
  }
  if (peek(1) != '/') return false;
  for (bool goes_on = true; goes_on; at_ += goes_on ? 1 : 0) {
    const std::string_view line =
        text_.substr(at_, text_.find('\n', at_) - at_);
    at_ += line.size();
    goes_on = is_joined(line) && at_ < text_.size();
  }
  return true;
}

CTokenKind CScanner::read() {
  if (at_ >= text_.size()) return CTokenKind::End;
  const char c = text_[at_];
  if (begins_name(c)) return read_name();
  if (is_digit(c) || (c == '.' && is_digit(peek(1)))) return read_number();
  if (c == '"' || c == '\'') return read_quoted();
  if (begins_directive()) return read_directive();
  if (starts_with("/*")) {
    at_ = text_.size();
    return CTokenKind::OpenComment;
  }
  std::size_t size = 1;
  // "<::" is "<" and "::", except before ":" and ">".
  const bool is_angle = starts_with("<::") && peek(3) != ':' && peek(3) != '>';
  if (!is_angle && std::string_view("<>:-%").find(c) != text_.npos) {
    for (const std::string_view whole :
         {"<<<", ">>>", "::", "->", "->*", "<%", "%>", "<:", ":>", "%:"}) {
      if (starts_with(whole)) size = whole.size();
    }
  }
  at_ += size;
  return CTokenKind::Punctuator;
}

// Comments and texts of a directive may hold each other's marks, and a text
// need not end.
CTokenKind CScanner::read_directive() {
  is_line_begin_ = false;
  at_ += peek() == '#' ? 1 : 2;
  while (peek() == ' ' || peek() == '\t') ++at_;
  if (starts_with("include")) {  // of "<src//a.h>"
    const std::size_t name = text_.find_first_of(">\"\n", at_);
    if (name != text_.npos) at_ = name;
  }
  skip_blanks(true);
  while (at_ < text_.size() && text_[at_] != '\n') {
    if (starts_with("/*")) break;  // without an end: it is the next token
    read();
    skip_blanks(true);
  }
  suffix_ = text_.size();
  return CTokenKind::Directive;
}

CTokenKind CScanner::read_name() {
  const std::size_t begin = at_;
  while (continues_name(peek())) ++at_;
  if (peek() != '"' && peek() != '\'') return CTokenKind::Identifier;
  const std::string_view name = text_.substr(begin, at_ - begin);
  const auto is_of = [&](auto... prefixes) {
    return ((name == prefixes) || ...);
  };
  if (is_of("L", "u", "U", "u8")) return read_quoted();
  if (peek() != '"' || !is_of("R", "LR", "uR", "UR", "u8R"))
    return CTokenKind::Identifier;
  const std::size_t open = std::min(text_.find('(', at_), text_.size());
  const std::string close =
      concat(")", text_.substr(at_ + 1, open - at_ - 1), "\"");
  const std::size_t end = text_.find(close, open);
  if (end == text_.npos) {
    read_quoted();
    return CTokenKind::OpenRaw;
  }
  at_ = end + close.size();
  return read_suffix();
}

CTokenKind CScanner::read_number() {
  const auto is_sign_of_exponent = [&](char c) {
    return (c == '+' || c == '-') &&
           std::string_view("eEpP").find(text_[at_ - 1]) != text_.npos;
  };
  for (char c = peek();
       continues_name(c) || c == '.' ||
       (c == '\'' && continues_name(peek(1))) || is_sign_of_exponent(c);
       c = peek()) {
    if (c == '_') suffix_ = std::min(suffix_, at_);
    ++at_;
  }
  return CTokenKind::Number;
}

CTokenKind CScanner::read_quoted() {
  const char quote = text_[at_++];
  while (at_ < text_.size() && text_[at_] != '\n') {
    const char c = text_[at_];
    at_ += std::max<std::size_t>(splice(at_), c == '\\' ? 2 : 1);
    if (c == quote) return read_suffix();
  }
  at_ = std::min(at_, text_.size());
  return CTokenKind::OpenText;
}

CTokenKind CScanner::read_suffix() {
  suffix_ = at_;
  while (continues_name(peek())) ++at_;
  return CTokenKind::Text;
}

}  // namespace gpuos
