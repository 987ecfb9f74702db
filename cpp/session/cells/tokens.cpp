#include "session/cells/tokens.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/concat.h"
#include "gpuos/error.h"
#include "jit/toolkit/compile_log.h"

namespace gpuos::session {
namespace {

// Returns the primary spelling of operators and brackets that have another one.
// Returns an empty text for all others.
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

class Tokenizer {
 public:
  explicit Tokenizer(const CellText& cell)
      : cell_(cell), text_(cell.text), scanner_(cell.text) {}

  std::vector<Token> run() {
    for (CToken read = scanner_.next(); read.kind != TokenKind::End;
         read = scanner_.next()) {
      Token token = placed(read);
      refuse_open(token);
      if (token.kind == TokenKind::Directive) see_directive(token);
      push(token);
    }
    return std::move(tokens_);
  }

 private:
  std::size_t offset_of(const CToken& token) const {
    return static_cast<std::size_t>(token.text.data() - text_.data());
  }

  Token placed(const CToken& read) {
    const std::size_t offset = offset_of(read);
    Token token{read, offset, offset + read.text.size(), 0, 0};
    place(offset, token.line, token.column);
    return token;
  }

  // Adds a token, and one for each character of its primary spelling.
  void push(Token token) {
    const std::string_view spelling = primary_spelling(token.text);
    if (spelling.empty()) return tokens_.push_back(token);
    token.kind = TokenKind::Punctuator;
    for (std::size_t i = 0; i < spelling.size(); ++i, ++token.offset) {
      token.text = spelling.substr(i, 1);
      tokens_.push_back(token);
    }
  }

  // Counts the lines up to `offset`, which never decreases.
  void place(std::size_t offset, int& line, int& column) {
    for (; counted_ < offset; ++counted_) {
      if (text_[counted_] != '\n') continue;
      ++line_;
      line_begin_ = counted_ + 1;
    }
    line = line_;
    column = static_cast<int>(offset - line_begin_) + 1;
  }

  void refuse_open(Token& token) const {
    const auto fail = [&](const std::string& what) {
      fail_at(cell_, token.line, token.column, what);
    };
    if (token.kind == TokenKind::OpenComment)
      fail("expected */, got the end of the cell");
    if (token.kind == TokenKind::OpenRaw)
      fail("expected the end of a raw string, got the end of the cell");
    if (token.kind != TokenKind::OpenText) return;
    // The text that a conditional omits may be prose.
    if (conditionals_ <= 0)
      fail(concat("expected a closing ",
                  token.text[token.text.find_first_of("\"'")],
                  ", got the end of the line"));
    token.kind = TokenKind::Text;
  }

  void see_directive(Token& token) {
    const std::string_view word = directive_word(token.text);
    if (word.starts_with("if")) ++conditionals_;
    if (word == "endif") --conditionals_;
    CScanner words(token.text, CScanner::Begin::InLine);
    words.next();  // #
    words.next();
    const CToken condition = words.next();
    if (word != "if" || words.next().kind != TokenKind::End ||
        (!condition.is("0") && !condition.is("false")))
      return;
    const std::size_t end = skip_group();
    token.end = end;
    token.text = text_.substr(token.offset, end - token.offset);
  }

  // Skips text in "#if 0", which may be prose. Stops at the line of its
  // "#endif", "#else" or "#elif", and returns where that begins.
  std::size_t skip_group() {
    int depth = 1;
    for (;;) {
      const CScanner before = scanner_;
      const CToken read = scanner_.next();
      if (read.kind == TokenKind::End) return text_.size();
      if (read.kind == TokenKind::OpenComment) {
        Token open = placed(read);
        refuse_open(open);
      }
      if (read.kind != TokenKind::Directive) continue;
      const std::string_view word = directive_word(read.text);
      if (word.starts_with("if")) ++depth;
      if (word == "endif") --depth;
      if (depth == 0 || (depth == 1 && word.starts_with("el"))) {
        scanner_ = before;
        return text_.rfind('\n', offset_of(read)) + 1;
      }
    }
  }

  const CellText& cell_;
  std::string_view text_;
  CScanner scanner_;
  int conditionals_ = 0;  // number of open conditionals
  std::size_t counted_ = 0;
  std::size_t line_begin_ = 0;
  int line_ = 1;
  std::vector<Token> tokens_;
};

constexpr std::string_view kKeywords =
    "alignas auto bool break case char class const constexpr continue "
    "decltype default do double else enum explicit extern false float for if "
    "inline int long namespace noexcept nullptr operator private public "
    "requires return short signed sizeof static struct switch template this "
    "true typedef typename union unsigned using virtual void volatile while "
    "blockDim blockIdx gridDim threadIdx __global__ __device__ __host__ "
    "__constant__ __shared__ __restrict__";

}  // namespace

void fail_at(const CellText& cell, int line, int column,
             const std::string& what) {
  SourcePlace place{.file = cell.name, .line = line, .column = column};
  place.excerpt =
      jit::excerpt_of(cell.written.empty() ? cell.text : cell.written, place);
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
  return Tokenizer(cell).run();
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
    // This is clang's limit. The reader is recursive.
    constexpr std::size_t kMostOpen = 256;
    if (open.size() > kMostOpen)
      fail_at(cell, token.line, token.column,
              concat("expected at most ", kMostOpen,
                     " brackets within each other, got more"));
    if (c != ')' && c != ']' && c != '}') continue;
    const char wanted = c == ')' ? '(' : c == ']' ? '[' : '{';
    if (open.empty() || tokens[open.back()].text[0] != wanted)
      fail_at(
          cell, token.line, token.column,
          concat("expected '", wanted, "' before this '", c, "', got none"));
    partner[i] = open.back();
    partner[open.back()] = i;
    open.pop_back();
  }
  if (!open.empty()) {
    const Token& token = tokens[open.back()];
    fail_at(cell, token.line, token.column,
            concat("expected a partner of '", token.text,
                   "', got the end of the cell"));
  }
  return partner;
}

std::string_view directive_word(std::string_view line) {
  const std::size_t begin = line.find_first_not_of("#%: \t");
  if (begin == line.npos) return "";
  const std::size_t end = line.find_first_of(" \t\n(<\"", begin);
  return line.substr(begin, end - begin);
}

bool is_keyword(std::string_view identifier) {
  return is_one_of(kKeywords, identifier);
}

std::set<std::string> identifiers_of(std::string_view code) {
  std::set<std::string> found;
  const auto add = [&](const CToken& token) {
    if (token.is_identifier() && !is_keyword(token.text))
      found.emplace(token.text);
    if (!token.suffix.empty()) found.emplace(token.suffix);
  };
  const CellText cell{"", std::string(code)};
  for (const Token& token : tokenize(cell)) {
    add(token);
    if (token.kind != TokenKind::Directive) continue;
    CScanner words(token.text, CScanner::Begin::InLine);
    for (CToken word = words.next(); word.kind != TokenKind::End;
         word = words.next())
      add(word);
  }
  return found;
}

}  // namespace gpuos::session
