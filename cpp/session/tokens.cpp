#include "session/tokens.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "base/concat.h"
#include "gpuos/error.h"
#include "host/compile_log.h"

namespace gpuos::session {
namespace {

// A character that is not ASCII counts as a letter. The compiler decides.
bool begins_name(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return std::isalpha(byte) != 0 || c == '_' || byte >= 0x80;
}
bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}
bool continues_name(char c) { return begins_name(c) || is_digit(c); }
bool is_space(char c) {
  return std::isspace(static_cast<unsigned char>(c)) != 0;
}

// Returns what another spelling of operators and brackets stands for; empty for
// what is none.
std::string_view primary_spelling(std::string_view text) {
  using Pair = std::pair<std::string_view, std::string_view>;
  constexpr std::array kSpellings = std::to_array<Pair>({{"and", "&&"},
                                                         {"or", "||"},
                                                         {"not", "!"},
                                                         {"bitand", "&"},
                                                         {"bitor", "|"},
                                                         {"xor", "^"},
                                                         {"compl", "~"},
                                                         {"and_eq", "&="},
                                                         {"or_eq", "|="},
                                                         {"xor_eq", "^="},
                                                         {"not_eq", "!="},
                                                         {"<%", "{"},
                                                         {"%>", "}"},
                                                         {"<:", "["},
                                                         {":>", "]"},
                                                         {"%:", "#"}});
  const bool may_be_one =
      text.size() >= 2 && text.size() <= 6 &&
      std::string_view("anobxc<%:").find(text[0]) != std::string_view::npos;
  if (!may_be_one) return "";
  const auto found = std::ranges::find(kSpellings, text, &Pair::first);
  return found == kSpellings.end() ? "" : found->second;
}

class Scanner {
 public:
  explicit Scanner(const CellText& cell) : cell_(cell), text_(cell.text) {}

  std::vector<Token> run() {
    while (skip_blanks()) {
      const std::size_t begin = at_;
      suffix_ = text_.size();
      const TokenKind kind = read();
      suffix_ = std::min(suffix_, at_);
      push(kind, begin);
      is_line_start_ = false;
    }
    return std::move(tokens_);
  }

 private:
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  bool starts_with(std::string_view wanted) const {
    return text_.substr(at_).starts_with(wanted);
  }

  // Counts the lines up to `offset`, which never goes back.
  void place(std::size_t offset, int& line, int& column) {
    for (; counted_ < offset; ++counted_) {
      if (text_[counted_] != '\n') continue;
      ++line_;
      line_begin_ = counted_ + 1;
    }
    line = line_;
    column = static_cast<int>(offset - line_begin_) + 1;
  }

  void push(TokenKind kind, std::size_t begin) {
    Token token{.kind = kind,
                .text = text_.substr(begin, at_ - begin),
                .suffix = text_.substr(suffix_, at_ - suffix_),
                .offset = begin,
                .end = at_,
                .line = 0,
                .column = 0};
    place(begin, token.line, token.column);
    const std::string_view spelling = primary_spelling(token.text);
    if (spelling.empty()) return tokens_.push_back(token);
    token.kind = TokenKind::Punctuator;
    for (std::size_t i = 0; i < spelling.size(); ++i, ++token.offset) {
      token.text = spelling.substr(i, 1);
      tokens_.push_back(token);
    }
  }

  [[noreturn]] void fail(std::size_t begin, const std::string& what) {
    int line = 0;
    int column = 0;
    place(begin, line, column);
    fail_at(cell_, line, column, what);
  }

  // False at the end of the cell.
  bool skip_blanks() {
    while (at_ < text_.size()) {
      if (text_[at_] == '\n') is_line_start_ = true;
      if (is_space(text_[at_])) {
        ++at_;
      } else if (starts_with("/*")) {
        skip_comment();
      } else if (!skip_line_comment() && !skip_splice()) {
        return true;
      }
    }
    return false;
  }

  // "\\" at the end of a line goes on with the next one.
  bool skip_splice() {
    if (!starts_with("\\\n")) return false;
    at_ += 2;
    return true;
  }

  bool skip_line_comment() {
    if (!starts_with("//")) return false;
    while (at_ < text_.size() && text_[at_] != '\n')
      if (!skip_splice()) ++at_;
    return true;
  }

  void skip_comment() {
    const std::size_t end = text_.find("*/", at_ + 2);
    if (end == text_.npos) fail(at_, "expected */, found the end of the cell");
    at_ = end + 2;
  }

  TokenKind read() {
    const char c = peek();
    if ((c == '#' || starts_with("%:")) && is_line_start_)
      return read_directive();
    if (begins_name(c)) return read_name();
    if (is_digit(c) || (c == '.' && is_digit(peek(1)))) return read_number();
    if (c == '"' || c == '\'') return read_quoted(at_);
    const bool is_angle =
        starts_with("<::") && peek(3) != ':' && peek(3) != '>';
    for (const std::string_view whole :
         {"<<<", ">>>", "::", "->*", "->", "<%", "%>", "<:", ":>", "%:"}) {
      if (is_angle) break;
      if (starts_with(whole)) {
        at_ += whole.size();
        return TokenKind::Punctuator;
      }
    }
    ++at_;
    return TokenKind::Punctuator;
  }

  TokenKind read_directive() {
    const std::size_t begin = at_;
    at_ += peek() == '%' ? 2 : 1;
    while (peek() == ' ' || peek() == '\t') ++at_;
    const bool is_include = starts_with("include");
    if (starts_with("if")) ++conditionals_;
    if (starts_with("endif")) --conditionals_;
    const std::size_t name = text_.find_first_of(">\"\n", at_);
    if (is_include && name != text_.npos) at_ = name;  // of "<src//a.h>"
    skip_line();
    std::string line(text_.substr(begin, at_ - begin));
    line.resize(std::min({line.find("//"), line.find("/*"), line.size()}));
    std::erase_if(line, is_space);
    if (line == "#if0" || line == "#iffalse") skip_group();
    suffix_ = text_.size();
    return TokenKind::Directive;
  }

  // The rest of a line with its continuations. Comments and texts of a
  // directive may hold each other's marks, and a text need not end.
  void skip_line() {
    while (at_ < text_.size() && text_[at_] != '\n') {
      if (starts_with("/*")) {
        skip_comment();
      } else if (skip_line_comment() || skip_splice()) {
        continue;
      } else if (begins_name(peek())) {
        while (continues_name(peek())) ++at_;
        if (peek() == '"' && text_[at_ - 1] == 'R') skip_raw();
      } else if (is_digit(peek())) {
        read_number();
      } else if (peek() == '"' || peek() == '\'') {
        skip_quoted();
      } else {
        ++at_;
      }
    }
  }

  // Skips text in "#if 0", which may be prose. Stops before its "#endif",
  // "#else" or "#elif".
  void skip_group() {
    int depth = 1;
    while (at_ < text_.size()) {
      const std::size_t line = at_;
      while (is_space(peek())) ++at_;
      if (peek() == '#') {
        ++at_;
        while (peek() == ' ' || peek() == '\t') ++at_;
        if (starts_with("if")) ++depth;
        if (starts_with("endif")) --depth;
        if (depth == 0 || (depth == 1 && starts_with("el"))) {
          at_ = line;
          return;
        }
      }
      skip_line();
    }
  }

  TokenKind read_name() {
    const std::size_t begin = at_;
    while (continues_name(peek())) ++at_;
    const std::string_view name = text_.substr(begin, at_ - begin);
    if (peek() == '"' && name.ends_with('R')) return read_raw(begin);
    const bool is_prefix =
        name == "L" || name == "u" || name == "U" || name == "u8";
    if (is_prefix && (peek() == '"' || peek() == '\''))
      return read_quoted(begin);
    return TokenKind::Identifier;
  }

  TokenKind read_number() {
    while (continues_name(peek()) || peek() == '.' ||
           (peek() == '\'' && continues_name(peek(1))) || is_exponent_sign()) {
      if (peek() == '_') suffix_ = std::min(suffix_, at_);
      ++at_;
    }
    return TokenKind::Number;
  }

  bool is_exponent_sign() const {
    if (peek() != '+' && peek() != '-') return false;
    return std::string_view("eEpP").find(text_[at_ - 1]) != text_.npos;
  }

  TokenKind read_quoted(std::size_t begin) {
    const char quote = peek();
    if (!skip_quoted() && conditionals_ <= 0)
      fail(begin,
           concat("expected a closing ", quote, ", found the end of the line"));
    return read_suffix();
  }

  // False if it does not end on its line.
  bool skip_quoted() {
    const char quote = peek();
    for (++at_; peek() != quote; ++at_) {
      if (starts_with("\\\n")) {
        ++at_;
        continue;
      }
      if (peek() == '\\') ++at_;
      if (at_ >= text_.size() || peek() == '\n') {
        at_ = std::min(at_, text_.size());
        return false;
      }
    }
    ++at_;
    return true;
  }

  TokenKind read_suffix() {
    suffix_ = at_;
    while (continues_name(peek())) ++at_;
    return TokenKind::Text;
  }

  TokenKind read_raw(std::size_t begin) {
    if (!skip_raw())
      fail(begin,
           "expected the end of a raw string, found the end of the "
           "cell");
    return read_suffix();
  }

  // False, and nothing is skipped, if it does not end.
  bool skip_raw() {
    const std::size_t open = text_.find('(', at_);
    const std::string close =
        concat(")", text_.substr(at_ + 1, open - at_ - 1), "\"");
    const std::size_t end = open == text_.npos ? open : text_.find(close, open);
    if (end == text_.npos) return false;
    at_ = end + close.size();
    return true;
  }

  const CellText& cell_;
  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t suffix_ = 0;  // where that of the token begins; else its end
  bool is_line_start_ = true;
  int conditionals_ = 0;  // that are open: what they leave out may be prose
  std::size_t counted_ = 0;
  std::size_t line_begin_ = 0;
  int line_ = 1;
  std::vector<Token> tokens_;
};

constexpr std::array kKeywords = std::to_array<std::string_view>(
    {"alignas",     "auto",       "bool",     "break",        "case",
     "char",        "class",      "const",    "constexpr",    "continue",
     "decltype",    "default",    "do",       "double",       "else",
     "enum",        "explicit",   "extern",   "false",        "float",
     "for",         "if",         "inline",   "int",          "long",
     "namespace",   "noexcept",   "nullptr",  "operator",     "private",
     "public",      "requires",   "return",   "short",        "signed",
     "sizeof",      "static",     "struct",   "switch",       "template",
     "this",        "true",       "typedef",  "typename",     "union",
     "unsigned",    "using",      "virtual",  "void",         "volatile",
     "while",       "blockDim",   "blockIdx", "gridDim",      "threadIdx",
     "__global__",  "__device__", "__host__", "__constant__", "__shared__",
     "__restrict__"});

// A directive may hold half a text: "#error don't".
void add_names(std::string_view line, std::set<std::string>& names) {
  for (std::size_t i = 0; i < line.size();) {
    const std::size_t begin = i;
    while (i < line.size() && continues_name(line[i])) ++i;
    const std::string_view word = line.substr(begin, i - begin);
    if (i > begin && begins_name(line[begin])) names.emplace(word);
    // "_km" of 4_km
    if (is_digit(line[begin]) && word.find('_') != word.npos)
      names.emplace(word.substr(word.find('_')));
    if (i == begin) ++i;
  }
}

}  // namespace

void fail_at(const CellText& cell, int line, int column,
             const std::string& what) {
  SourcePlace place{.file = cell.name, .line = line, .column = column};
  place.excerpt =
      host::excerpt_of(cell.written.empty() ? cell.text : cell.written, place);
  throw CompileError(concat(cell.name, ":", line, ":", column, ": ", what, "\n",
                            place.excerpt),
                     "", place);
}

std::string in_plain_lines(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark))
    text.remove_prefix(kByteOrderMark.size());
  std::string plain;
  plain.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool ends_line =
        text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n';
    if (!ends_line) plain += text[i];
  }
  return plain;
}

CellText at_place(const std::string& name, int line, int column,
                  std::string_view text) {
  CellText cell{name, std::string(static_cast<std::size_t>(line - 1), '\n')};
  cell.text.append(static_cast<std::size_t>(column - 1), ' ');
  cell.text += text;
  return cell;
}

std::vector<Token> tokenize(const CellText& cell) {
  return Scanner(cell).run();
}

std::vector<std::size_t> match_brackets(const CellText& cell,
                                        const std::vector<Token>& tokens) {
  std::vector<std::size_t> partner(tokens.size(), 0);
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const Token& token = tokens[i];
    if (token.kind != TokenKind::Punctuator || token.text.size() != 1) continue;
    const char c = token.text[0];
    if (c == '(' || c == '[' || c == '{') open.push_back(i);
    // The number that clang takes. The reader is recursive.
    constexpr std::size_t kMostOpen = 256;
    if (open.size() > kMostOpen)
      fail_at(cell, token.line, token.column,
              concat("expected at most ", kMostOpen,
                     " brackets within each other, found more"));
    if (c != ')' && c != ']' && c != '}') continue;
    const char wanted = c == ')' ? '(' : c == ']' ? '[' : '{';
    if (open.empty() || tokens[open.back()].text[0] != wanted)
      fail_at(
          cell, token.line, token.column,
          concat("expected '", wanted, "' before this '", c, "', found none"));
    partner[i] = open.back();
    partner[open.back()] = i;
    open.pop_back();
  }
  if (!open.empty()) {
    const Token& token = tokens[open.back()];
    fail_at(cell, token.line, token.column,
            concat("expected a partner of '", token.text,
                   "', found the end of the cell"));
  }
  return partner;
}

std::string_view directive_word(std::string_view line) {
  const std::size_t begin = line.find_first_not_of("# \t");
  if (begin == line.npos) return "";
  const std::size_t end = line.find_first_of(" \t\n(<\"", begin);
  return line.substr(begin, end - begin);
}

bool is_keyword(std::string_view identifier) {
  return std::ranges::find(kKeywords, identifier) != kKeywords.end();
}

std::set<std::string> identifiers_of(std::string_view code) {
  std::set<std::string> found;
  const CellText cell{"", std::string(code)};
  for (const Token& token : tokenize(cell)) {
    if (token.is_identifier() && !is_keyword(token.text))
      found.emplace(token.text);
    if (token.kind == TokenKind::Directive) add_names(token.text, found);
    if (!token.suffix.empty()) found.emplace(token.suffix);
  }
  return found;
}

}  // namespace gpuos::session
