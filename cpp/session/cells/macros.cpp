#include "session/cells/macros.h"

#include <algorithm>

#include "base/concat.h"
#include "session/cells/statements.h"

namespace gpuos::session {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\n";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == text.npos) return "";
  return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

// Returns the tokens of a macro's text, in which '#' begins no line.
std::vector<Token> tokens_of(const CellText& body) {
  std::vector<Token> tokens = tokenize(body);
  tokens.erase(tokens.begin());
  return tokens;
}
CellText text_of(std::string_view body) { return {"", concat(";", body)}; }

// Returns whether the macro says where its code runs. If both parts of an #if
// define a macro, the definition that does so counts for reading the cell.
bool names_side(const Macro& macro) {
  return std::ranges::any_of(
      std::to_array<std::string_view>(
          {"__device__", "__global__", "__constant__", "__shared__"}),
      [&](std::string_view word) {
        return macro.body.find(word) != macro.body.npos;
      });
}

std::string as_string_literal(std::string_view text) {
  std::string made = "\"";
  for (const char c : trimmed(text)) {
    if (c == '"' || c == '\\') made += '\\';
    made += c;
  }
  return made + "\"";
}

// Returns the arguments of a macro whose parentheses open at `open`. Stores the
// place of the ')' in `close`. Returns nothing if they do not close.
std::optional<std::vector<std::string>> arguments_at(
    const CellText& cell, const std::vector<Token>& tokens, std::size_t open,
    std::size_t& close) {
  std::vector<std::string> found;
  int depth = 0;
  std::size_t begin = tokens[open].offset + 1;
  for (close = open; close < tokens.size(); ++close) {
    const Token& token = tokens[close];
    depth += token.is("(") ? 1 : token.is(")") ? -1 : 0;
    if (depth > 1 || (depth == 1 && !token.is(","))) continue;
    found.emplace_back(trimmed(
        std::string_view(cell.text).substr(begin, token.offset - begin)));
    begin = token.offset + 1;
    if (depth == 0) return found;
  }
  return std::nullopt;
}

std::size_t lines_in(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

// Tracks which braces hold pieces of the cell: the braces of namespaces and
// extern "C".
class Depth {
 public:
  explicit Depth(const std::vector<Token>& tokens) : tokens_(tokens) {}

  /// Returns whether declarations of the cell are here.
  bool is_outside() const { return inside_ == 0; }
  /// Returns whether a declaration may begin at token `i`.
  bool begins(std::size_t i) const {
    if (!is_outside() || i == 0) return is_outside();
    const Token& before = tokens_[i - 1];
    return before.kind == TokenKind::Directive || before.is(";") ||
           before.is("{") || before.is("}");
  }
  void pass(std::size_t i) {
    const Token& token = tokens_[i];
    if (token.is("{") && is_outside() && is_scope(i)) return;
    if (token.is("{") || token.is("(")) ++inside_;
    if ((token.is("}") || token.is(")")) && inside_ > 0) --inside_;
  }

 private:
  bool is_scope(std::size_t open) const {
    std::size_t i = open;
    while (i > 0 &&
           (tokens_[i - 1].is("::") || (tokens_[i - 1].is_identifier() &&
                                        !tokens_[i - 1].is("namespace"))))
      --i;
    if (i == 0) return false;
    const Token& word = tokens_[i - 1];
    return word.is("namespace") || (word.kind == TokenKind::Text && i > 1 &&
                                    tokens_[i - 2].is("extern"));
  }

  const std::vector<Token>& tokens_;
  int inside_ = 0;
};

// Notes neighbouring words that may be macros. In "HD V f(" these are all but
// the last two, and in "HD V& f(" all but the last. Such words add to a
// declaration, so they are keywords or macros.
void note_doubts(const std::vector<Token>& tokens, std::size_t begin,
                 MacroDoubts& doubts) {
  if (tokens[begin].is("template")) {
    int depth = 0;
    do {
      ++begin;
      if (begin == tokens.size()) return;
      depth += tokens[begin].is("<") ? 1 : tokens[begin].is(">") ? -1 : 0;
    } while (depth > 0);
    ++begin;
  }
  if (begin + 1 < tokens.size() && tokens[begin].is("extern") &&
      tokens[begin + 1].kind == TokenKind::Text)
    begin += 2;
  std::size_t end = begin;
  while (end < tokens.size() && tokens[end].is_identifier()) ++end;
  const bool goes_on =
      end < tokens.size() && (tokens[end].is("<") || tokens[end].is("*") ||
                              tokens[end].is("&") || tokens[end].is("::"));
  for (std::size_t i = begin; i < end; ++i) {
    const std::string name(tokens[i].text);
    if (begins_piece(name) || is_keyword(name)) continue;
    doubts.possible.insert(name);
    if (i + (goes_on ? 1 : 2) < end) doubts.urgent.insert(name);
  }
}

}  // namespace

void Macros::take(std::string_view line, bool is_conditional) {
  const std::string_view word = directive_word(line);
  if (word != "define" && word != "undef") return;
  const CellText text = text_of(line);
  const std::vector<Token> tokens = tokens_of(text);
  const auto is = [&](std::size_t i, std::string_view wanted) {
    return i < tokens.size() && tokens[i].is(wanted);
  };
  if (tokens.size() < 3) return;
  const std::string name(tokens[2].text);
  if (is(1, "undef") && !is_conditional) macros_.erase(name);
  if (!is(1, "define")) return;
  Macro macro;
  std::size_t end = tokens[2].offset + name.size();
  // "F(x)" takes arguments, and "F (x)" stands for "(x)".
  macro.takes_arguments = is(3, "(") && tokens[3].offset == end;
  if (macro.takes_arguments) {
    std::size_t close = 3;
    for (; close < tokens.size() && !is(close, ")"); ++close) {
      if (tokens[close].is_identifier())
        macro.parameters.emplace_back(tokens[close].text);
      // The last parameter is "..." or "rest...".
      if (is(close, ".") && is(close + 1, ".")) {
        if (tokens[close - 1].is_identifier())
          macro.parameters.back() += "...";
        else
          macro.parameters.emplace_back("...");
      }
      if (is(close, ".")) close += 2;
    }
    if (close >= tokens.size()) return;
    end = tokens[close].offset + 1;
  }
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    // The text omits comments and the ends of lines.
    if (tokens[i].offset < end) continue;
    const std::size_t behind = tokens[i - 1].end;
    if (!macro.body.empty() && behind < tokens[i].offset) macro.body += ' ';
    macro.body += tokens[i].text;
  }
  const auto old = macros_.find(name);
  if (is_conditional && old != macros_.end() && old->second != macro) {
    if (names_side(old->second)) return;
    if (!names_side(macro)) {
      macros_.erase(old);  // the compiler knows which one it is
      return;
    }
  }
  macros_[name] = std::move(macro);
}

bool Macros::take_some(const std::string& lines,
                       const std::set<std::string>& names) {
  constexpr std::string_view kDefine = "#define ";
  bool has_taken = false;
  for (std::size_t at = 0; at < lines.size();) {
    const std::size_t end = std::min(lines.find('\n', at), lines.size());
    const std::string_view line(lines.data() + at, end - at);
    at = end + 1;
    if (!line.starts_with(kDefine)) continue;
    const std::size_t behind =
        std::min(line.find_first_of(" (", kDefine.size()), line.size());
    const std::string name(
        line.substr(kDefine.size(), behind - kDefine.size()));
    if (!names.contains(name)) continue;
    take(line);
    has_taken = true;
  }
  return has_taken;
}

const Macro* Macros::find(std::string_view name) const {
  const auto found = macros_.find(name);
  return found == macros_.end() ? nullptr : &found->second;
}

NameKind Macros::kind_of(std::string_view name, const KindOf& of_others) const {
  const Macro* const macro = find(name);
  if (macro == nullptr || macro->takes_arguments) return NameKind::Unknown;
  const CellText text = text_of(macro->body);
  const std::vector<Token> tokens = tokens_of(text);
  if (tokens.empty()) return NameKind::Unknown;
  const Token& first = tokens.front();
  if (begins_declaration(first.text)) return NameKind::Type;
  if (!first.is_identifier() && !first.is("::")) return NameKind::Value;
  const bool is_name = std::ranges::all_of(tokens, [](const Token& token) {
    return token.is_identifier() || token.is("::");
  });
  if (is_name && macro->body != name) return of_others(macro->body, true);
  const bool is_call = tokens.size() > 1 && tokens[1].is("(");
  return begins_piece(first.text) || is_call ? NameKind::Value
                                             : NameKind::Unknown;
}

constexpr int kDeepestMacro = 16;  // macros within each other

// Returns whether the macro may make a name, itself or by another macro.
bool Macros::pastes(const Macro& macro, int depth) const {
  if (macro.body.find("##") != macro.body.npos) return true;
  const CellText text = text_of(macro.body);
  return depth < kDeepestMacro && macro.takes_arguments &&
         std::ranges::any_of(
             tokens_of(text),
             [&](const Token& token) {
               const Macro* const next = find(token.text);
               return next != nullptr && pastes(*next, depth + 1);
             });
}

bool Macros::is_structural(const Macro& macro, int depth) const {
  if (macro.body.find("<<<") != macro.body.npos) return true;
  const CellText text = text_of(macro.body);
  const std::vector<Token> tokens = tokens_of(text);
  if (tokens.empty()) return true;
  const Token& first = tokens.front();
  if (!first.is_identifier())
    return first.is("{") || first.is("}") || first.is("[");
  if (begins_piece(first.text)) return true;
  const Macro* const next = find(first.text);
  return next != nullptr && depth < kDeepestMacro &&
         is_structural(*next, depth + 1);
}

// Returns nothing for a macro that only the preprocessor can expand.
std::optional<std::string> Macros::replacement(
    const Macro& macro, const std::vector<std::string>& given) const {
  if (macro.body.find("__VA_OPT__") != macro.body.npos) return std::nullopt;
  std::map<std::string, std::string, std::less<>> values;
  for (std::size_t i = 0; i < macro.parameters.size(); ++i) {
    std::string name = macro.parameters[i];
    if (!name.ends_with("...")) {
      values[name] = i < given.size() ? given[i] : "";
      continue;
    }
    name.resize(name.size() - 3);
    std::string& rest = values[name.empty() ? "__VA_ARGS__" : name];
    for (std::size_t j = i; j < given.size(); ++j)
      rest += (j > i ? ", " : "") + given[j];
  }
  const CellText text = text_of(macro.body);
  const std::vector<Token> tokens = tokens_of(text);
  const auto is = [&](std::size_t i, std::string_view word) {
    return i < tokens.size() && tokens[i].is(word);
  };
  const auto is_paste = [&](std::size_t i) {
    return is(i, "#") && is(i + 1, "#");
  };
  std::string made;
  std::size_t behind = 0;
  bool is_pasted = false;
  const bool has_rest = !macro.parameters.empty() &&
                        macro.parameters.back().ends_with("...") &&
                        given.size() >= macro.parameters.size();
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    // ", ##__VA_ARGS__" is empty without further arguments.
    if (is(i, ",") && is_paste(i + 1) && !has_rest) {
      i += 3;
      continue;
    }
    if (is_paste(i)) {
      is_pasted = true;
      ++i;
      continue;
    }
    const bool is_apart = tokens[i].offset > behind && !made.empty();
    if (is_apart && !is_pasted) made += ' ';
    is_pasted = false;
    const bool is_quoted = macro.takes_arguments && is(i, "#");
    if (is_quoted && ++i == tokens.size()) return std::nullopt;
    const auto value = values.find(tokens[i].text);
    const std::string piece =
        value == values.end() ? std::string(tokens[i].text) : value->second;
    made += is_quoted ? as_string_literal(piece) : piece;
    behind = tokens[i].end;
  }
  return made;
}

std::string Macros::expand(const CellText& cell, MacroDoubts& doubts) {
  Active active;
  return expand(cell, active, &doubts);
}

std::string Macros::expand(const CellText& cell, Active& active,
                           MacroDoubts* doubts) {
  const std::vector<Token> tokens = tokenize(cell);
  Depth depth(tokens);
  std::string text;
  std::size_t copied = 0;
  int conditionals = 0;
  std::size_t behind_macro = 0;  // a declaration may begin after "CHECK(x)"
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const Token& token = tokens[i];
    if (token.kind == TokenKind::Directive && doubts != nullptr) {
      const std::string_view word = directive_word(token.text);
      if (word.starts_with("if")) ++conditionals;
      if (word == "endif") --conditionals;
      take(token.text, conditionals > 0);
    }
    const bool begins =
        depth.begins(i) || (i == behind_macro && depth.is_outside());
    if (begins && doubts != nullptr) note_doubts(tokens, i, *doubts);
    const Macro* const macro =
        token.is_identifier() && !active.contains(token.text) ? find(token.text)
                                                              : nullptr;
    const bool is_launch =
        macro != nullptr && macro->body.find("<<<") != macro->body.npos;
    const bool is_wanted =
        macro != nullptr &&
        (is_launch || (depth.is_outside() &&
                       (is_structural(*macro) ||
                        (begins && macro->takes_arguments) || pastes(*macro))));
    std::size_t last = i;
    std::vector<std::string> given;
    bool is_whole = is_wanted;
    if (is_wanted && macro->takes_arguments) {
      const bool is_open = i + 1 < tokens.size() && tokens[i + 1].is("(");
      const auto arguments =
          is_open ? arguments_at(cell, tokens, i + 1, last) : std::nullopt;
      is_whole = arguments.has_value();
      if (is_whole) given = *arguments;
    }
    const auto made =
        is_whole ? replacement(*macro, given) : std::optional<std::string>();
    if (!made) {
      depth.pass(i);
      continue;
    }
    const std::size_t end = tokens[last].end;
    text += cell.text.substr(copied, token.offset - copied);
    active.emplace(token.text);
    text += expand(CellText{cell.name, *made}, active, nullptr);
    active.erase(std::string(token.text));
    // This keeps the number of lines.
    const std::string_view was =
        std::string_view(cell.text).substr(token.offset, end - token.offset);
    const std::size_t lines = lines_in(was);
    text.append(lines - std::min(lines, lines_in(*made)), '\n');
    copied = end;
    i = last;
    if (begins) behind_macro = last + 1;
  }
  return text + cell.text.substr(copied);
}

}  // namespace gpuos::session
