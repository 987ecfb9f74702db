#include "operators/checked_source.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/concat.h"
#include "operators/operator_definition.h"

namespace gpuos {
namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}
bool is_blank(char c) {
  return std::isspace(static_cast<unsigned char>(c)) != 0;
}

/// Blanks [from, to) but for its lines.
void blank(std::string& text, std::size_t from, std::size_t to) {
  for (std::size_t i = from; i < std::min(to, text.size()); ++i) {
    if (text[i] != '\n') text[i] = ' ';
  }
}

/// One past the literal that begins at `at`.
std::size_t end_of_literal(std::string_view text, std::size_t at) {
  const char quote = text[at];
  for (std::size_t i = at + 1; i < text.size(); ++i) {
    if (text[i] == '\\')
      ++i;
    else if (text[i] == quote || text[i] == '\n')
      return i + 1;
  }
  return text.size();
}

/// Returns the text, in the same length, without comments and literals. A line
/// of the preprocessor becomes a `;`, because a statement ends there.
std::string code_of(const std::string& source) {
  std::string code = source;
  bool is_line_begin = true;
  for (std::size_t i = 0; i < source.size();) {
    const std::string_view rest = std::string_view(source).substr(i);
    std::size_t end = i + 1;
    if (rest.starts_with("//")) {
      end = std::min(source.find('\n', i), source.size());
      blank(code, i, end);
    } else if (rest.starts_with("/*")) {
      const std::size_t close = source.find("*/", i + 2);
      end = close == source.npos ? source.size() : close + 2;
      blank(code, i, end);
    } else if (rest[0] == '"' ||
               // A ' between digits parts them.
               (rest[0] == '\'' && (i == 0 || !is_word(source[i - 1])))) {
      end = end_of_literal(source, i);
      blank(code, i, end);
    } else if (rest[0] == '#' && is_line_begin) {
      end = std::min(source.find('\n', i), source.size());
      while (end < source.size() && source[end - 1] == '\\')
        end = std::min(source.find('\n', end + 1), source.size());
      blank(code, i, end);
      code[i] = ';';
    }
    is_line_begin =
        source[end - 1] == '\n' || (is_line_begin && is_blank(source[end - 1]));
    i = end;
  }
  return code;
}

/// `name = task.pointer<...>(...)` in a text without comments.
struct PointerUse {
  std::size_t name = 0;  // where the name begins
  std::size_t name_end = 0;
  std::optional<std::size_t> type;  // where the declaration `T* name` begins
  std::optional<std::size_t> argument;
};

/// Reads a text backwards or forwards from a place.
class Cursor {
 public:
  Cursor(std::string_view text, std::size_t at) : text_(text), at_(at) {}

  std::size_t at() const { return at_; }
  void skip_blanks_back() {
    while (at_ > 0 && is_blank(text_[at_ - 1])) --at_;
  }
  bool take_back(char c) {
    skip_blanks_back();
    if (at_ == 0 || text_[at_ - 1] != c) return false;
    --at_;
    return true;
  }
  std::string_view word_back() {
    skip_blanks_back();
    const std::size_t end = at_;
    while (at_ > 0 && is_word(text_[at_ - 1])) --at_;
    return text_.substr(at_, end - at_);
  }
  bool take(std::string_view word) {
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  /// From behind an opening bracket to behind its closing one.
  bool close(char open, char close) {
    for (int depth = 1; at_ < text_.size(); ++at_) {
      depth += text_[at_] == open ? 1 : text_[at_] == close ? -1 : 0;
      if (depth == 0) return ++at_, true;
    }
    return false;
  }
  std::string_view word() {
    take("");
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

 private:
  std::string_view text_;
  std::size_t at_;
};

/// Where the type of a declaration of pointers begins whose `*` ends at `end`;
/// empty if that is something else.
std::optional<std::size_t> type_before(std::string_view code, std::size_t end) {
  std::size_t begin = end;
  int depth = 0;
  for (; begin > 0; --begin) {
    const char c = code[begin - 1];
    if (c == '>') ++depth;
    if (c == '<') --depth;
    const bool is_part = is_word(c) || is_blank(c) || c == ':' || c == '<' ||
                         c == '>' || c == '*' || (c == ',' && depth > 0);
    if (!is_part) break;
  }
  if (begin > 0 &&
      std::string_view(";{}()").find(code[begin - 1]) == std::string_view::npos)
    return std::nullopt;
  while (begin < end && is_blank(code[begin])) ++begin;
  const std::string_view type = code.substr(begin, end - begin);
  if (type.empty() || !is_word(type[0]) || type.starts_with("return") ||
      type.starts_with("static") || type.starts_with("else"))
    return std::nullopt;
  return begin;
}

/// Whether what is behind `at` ends one declaration of one name.
bool ends_alone(std::string_view code, std::size_t at) {
  int depth = 0;
  for (; at < code.size(); ++at) {
    const char c = code[at];
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') --depth;
    if (depth < 0) return false;
    if (depth == 0 && (c == ',' || c == '?')) return false;
    if (depth == 0 && c == ';') return true;
  }
  return false;
}

std::optional<PointerUse> use_at(std::string_view code, std::size_t task) {
  if (task > 0 && is_word(code[task - 1])) return std::nullopt;
  Cursor behind(code, task);
  if (!behind.take("task") || !behind.take(".") || !behind.take("pointer") ||
      !behind.take("<") || !behind.close('<', '>') || !behind.take("("))
    return std::nullopt;
  PointerUse use;
  const std::string_view number = behind.word();
  if (!number.empty() && number.size() < 3 &&
      std::ranges::all_of(number, [](char c) { return c >= '0' && c <= '9'; }))
    use.argument = std::stoul(std::string(number));
  if (!behind.close('(', ')')) return std::nullopt;

  Cursor before(code, task);
  if (!before.take_back('=')) return std::nullopt;
  before.skip_blanks_back();
  use.name_end = before.at();
  if (before.word_back().empty()) return std::nullopt;
  use.name = before.at();
  for (;;) {
    Cursor qualifier = before;
    const std::string_view word = qualifier.word_back();
    if (word != "const" && word != "__restrict__" && word != "__restrict")
      break;
    before = qualifier;
  }
  Cursor star = before;
  if (star.take_back('*') && ends_alone(code, behind.at()))
    use.type = type_before(code, star.at());
  return use;
}

std::vector<PointerUse> uses_in(std::string_view code) {
  std::vector<PointerUse> uses;
  for (std::size_t at = code.find("task"); at != code.npos;
       at = code.find("task", at + 1)) {
    if (const auto use = use_at(code, at)) uses.push_back(*use);
  }
  return uses;
}

/// The numbers of the dtypes, each behind a comma.
std::string param_types(const OperatorDefinition& definition) {
  std::string text;
  for (const Parameter& param : definition.params)
    text += concat(", ", static_cast<unsigned>(param.dtype));
  return text;
}

}  // namespace

CheckedSource checked_source(const OperatorDefinition& definition) {
  CheckedSource made;
  const int inputs = inputs_of(definition);
  const std::size_t words =
      checked_words(inputs, definition.params.size(), definition.elementwise);
  const int buffers = inputs < 0 ? 0 : 1 + inputs;
  made.prelude = concat(
      "#define GPUOS_CHECKED 1\n#include \"gpuos/checked.h\"\n"
      "#undef GPUOS_OPERATOR\n"
      "#define GPUOS_OPERATOR(name) GPUOS_CHECKED_OPERATOR(name)\n"
      "#undef GPUOS_CHECKED_TABLE\n#define GPUOS_CHECKED_TABLE Table<",
      words, ", ", definition.elementwise ? "true" : "false", ", ", buffers,
      ", ", static_cast<unsigned>(dtype_of(definition)),
      param_types(definition), ">\n");
  made.text = definition.source;
  const std::string code = code_of(definition.source);
  const std::vector<PointerUse> uses = uses_in(code);
  // From the last to the first, so that places before stay right.
  for (auto use = uses.rbegin(); use != uses.rend(); ++use) {
    if (!use->type) continue;
    const std::size_t length = use->name - *use->type;
    std::string text = "auto ";
    text.append(
        static_cast<std::size_t>(std::count(
            code.begin() + static_cast<std::ptrdiff_t>(*use->type),
            code.begin() + static_cast<std::ptrdiff_t>(use->name), '\n')),
        '\n');
    made.text.replace(*use->type, length, text);
  }
  return made;
}

std::shared_ptr<const CheckedOperator> checked_operator(
    const OperatorDefinition& definition) {
  auto made = std::make_shared<CheckedOperator>();
  made->name = definition.name;
  made->dtype = dtype_of(definition);
  made->params = definition.params;
  for (const PointerUse& use : uses_in(code_of(definition.source))) {
    if (!use.argument || *use.argument >= abi::kMaxArgs) continue;
    if (made->names.size() <= *use.argument)
      made->names.resize(*use.argument + 1);
    std::string& name = made->names[*use.argument];
    if (name.empty())
      name = definition.source.substr(use.name, use.name_end - use.name);
  }
  return made;
}

}  // namespace gpuos
