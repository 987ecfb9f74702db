#include <algorithm>

#include "base/concat.h"
#include "session/cells/classify.h"

namespace gpuos::session {
namespace {

struct Declarator {
  std::size_t begin = 0;  // after the base type
  std::size_t end = 0;    // its ',' or ';'
  std::size_t name = 0;
  std::size_t group = 0;        // '(' of "(*f)(int)"; 0: none
  std::size_t initializer = 0;  // 0: none
};

bool is_pointer_mark(const TokenList& tokens, std::size_t i) {
  return tokens.is_any(i, "* &");
}

// Returns whether the tokens are "[[maybe_unused]]".
bool is_attribute_list(const TokenList& tokens, std::size_t i) {
  return tokens.is(i, "[") && tokens.is(i + 1, "[");
}

std::size_t find_initializer(const TokenList& tokens, std::size_t begin,
                             std::size_t end) {
  for (std::size_t i = begin; i < end;) {
    if (tokens.is_any(i, "= {")) return i;
    const bool skips = tokens.is_any(i, "( [");
    i = skips ? tokens.behind(i) : i + 1;
  }
  return 0;
}

// Returns the '(' of "x(3)", but not of "(*f)(int)". Returns 0 if there is
// none.
std::size_t find_arguments(const TokenList& tokens, std::size_t begin,
                           std::size_t end) {
  for (std::size_t i = begin; i < end;) {
    const bool is_open = tokens.is(i, "(");
    if (is_open && i > begin && tokens.is_identifier(i - 1)) return i;
    i = is_open || tokens.is(i, "[") ? tokens.behind(i) : i + 1;
  }
  return 0;
}

// Returns the identifier before '[' or before the end. In "(*f)(int)" it is in
// the first parentheses.
std::size_t find_name(const TokenList& tokens, std::size_t group,
                      std::size_t begin, std::size_t end) {
  std::size_t at = end;
  if (group != 0) {
    at = tokens.behind(group) - 1;
  } else {
    while (is_attribute_list(tokens, begin)) begin = tokens.behind(begin);
    for (std::size_t i = begin; i < end; ++i) {
      i = tokens.behind_angles(i);
      // The attribute in "n __attribute__((unused))" comes after the name, not
      // before the type.
      const bool is_behind = i > begin + 1 && tokens.is(i, "__attribute__");
      if ((!tokens.is(i, "[") && !is_behind) || i == begin) continue;
      at = i;
      break;
    }
  }
  for (; at > begin; --at) {
    if (tokens.is_identifier(at - 1) && !is_keyword(tokens[at - 1].text))
      return at - 1;
  }
  tokens.fail(begin, concat("expected the name of a variable, got '",
                            tokens.plain(begin, end), "'"));
}

// Returns whether the token is the second '<' of "<<" or the '=' of ">=".
// Tokens are single characters.
bool is_one_operator(const TokenList& tokens, std::size_t i) {
  constexpr std::string_view kOperators = "<>=&|+-*/%!^.";
  const auto is_operator = [&](const Token& token) {
    return token.text.size() == 1 &&
           kOperators.find(token.text) != kOperators.npos;
  };
  return i > 0 && is_operator(tokens[i]) && is_operator(tokens[i - 1]) &&
         tokens[i].offset == tokens[i - 1].offset + 1;
}

bool is_dropped(const TokenList& tokens, std::size_t i) {
  // This is the "C" of extern "C".
  if (tokens[i].kind == TokenKind::Text && i > 0 && tokens.is(i - 1, "extern"))
    return true;
  return tokens.is_any(i, "static inline extern constinit");
}

bool is_attribute(const TokenList& tokens, std::size_t i) {
  return tokens.is_any(i, "__device__ __constant__ __managed__");
}

bool takes_argument(const TokenList& tokens, std::size_t i) {
  return tokens.is_any(i, "alignas __align__") && tokens.is(i + 1, "(");
}

// Returns how many elements "{1, 2, 3}" has.
std::string count_of(const TokenList& tokens, const Declarator& declarator) {
  std::size_t open = declarator.initializer;
  if (tokens.is(open, "=")) ++open;
  if (!tokens.is(open, "{"))
    return concat("sizeof(", tokens.text(open, declarator.end), ")");
  const std::size_t close = tokens.behind(open) - 1;
  std::size_t count = close > open + 1 ? 1 : 0;
  for (std::size_t i = open + 1; i < close;) {
    if (tokens.is(i, ",") && i + 1 < close) ++count;
    i = std::max(tokens.next(i), behind_arguments(tokens, i));
  }
  return std::to_string(count);
}

class Variables {
 public:
  Variables(const TokenList& tokens, const Shape& shape,
            const std::vector<std::string>& scopes)
      : tokens_(tokens), shape_(shape), scopes_(scopes) {}

  std::vector<Item> run() {
    find_declarators();
    std::vector<Item> items;
    for (const Declarator& declarator : declarators_)
      items.push_back(make(declarator));
    return items;
  }

 private:
  bool base_has(std::string_view word) const {
    return tokens_.has_any(shape_.begin, declarators_.front().begin, word);
  }

  // The type comes before the first declarator.
  std::size_t find_group(std::size_t begin, std::size_t end) const {
    if (declarators_.empty()) return shape_.group < end ? shape_.group : 0;
    while (is_pointer_mark(tokens_, begin)) ++begin;
    return tokens_.is(begin, "(") ? begin : 0;
  }

  void find_declarators() {
    std::size_t begin = shape_.begin;
    const auto add = [&](std::size_t end) {
      Declarator declarator{.begin = begin, .end = end};
      declarator.initializer = find_initializer(tokens_, begin, end);
      // The loop reads "T x(3), y(4);".
      if (declarator.initializer == 0)
        declarator.initializer =
            declarators_.empty()
                ? (shape_.parameters < end ? shape_.parameters : 0)
                : find_arguments(tokens_, begin, end);
      const std::size_t head =
          declarator.initializer != 0 ? declarator.initializer : end;
      declarator.group = find_group(begin, end);
      declarator.name = find_name(tokens_, declarator.group, begin, head);
      if (declarators_.empty()) {
        declarator.begin = declarator.name;
        if (declarator.group != 0) declarator.begin = declarator.group;
        while (declarator.begin > shape_.begin &&
               is_pointer_mark(tokens_, declarator.begin - 1))
          --declarator.begin;
      }
      declarators_.push_back(declarator);
      begin = end + 1;
    };
    for (const std::size_t comma : shape_.commas) add(comma);
    add(shape_.end - 1);
  }

  Item make(const Declarator& declarator) const {
    Item item;
    const Token& first = tokens_[shape_.begin];
    item.line = first.line;
    item.column = first.column;
    item.scopes = scopes_;
    item.name = tokens_[declarator.name].text;
    item.names.insert(item.name);
    item.declares.insert(item.name);
    item.key = concat("v:", qualifier_of(scopes_), item.name);
    item.is_constant = base_has("__constant__");
    item.is_array = tokens_.is(declarator.name + 1, "[") &&
                    !is_attribute_list(tokens_, declarator.name + 1);
    const bool is_extern = base_has("extern");
    if (base_has("__shared__") || is_own_copy(declarator)) {
      item.kind = ItemKind::Header;
      item.is_shared = !base_has("__shared__") && !base_has("__device__");
      item.text = define(declarator, item);
      item.header = declarators_.size() == 1
                        ? tokens_.text(shape_.begin, shape_.end)
                        : item.text;
      return item;
    }
    if (!base_has("__device__") && !item.is_constant &&
        !base_has("__managed__"))
      return make_host(declarator, std::move(item), is_extern);
    item.kind = is_extern && declarator.initializer == 0 ? ItemKind::Declaration
                                                         : ItemKind::Variable;
    item.text = define(declarator, item);
    item.header = base_has("auto") ? refer_deduced(declarator, item)
                                   : refer(declarator, item);
    return item;
  }

  Item make_host(const Declarator& declarator, Item item,
                 bool is_extern) const {
    item.text = define(declarator, item);
    if (is_extern && declarator.initializer == 0) {
      item.kind = ItemKind::HostDeclaration;
      item.header = concat("extern ", item.text);
      return item;
    }
    item.kind = ItemKind::HostVariable;
    item.is_member = tokens_.is(declarator.name - 1, "::");
    if (item.is_member) {
      const std::string of(tokens_[declarator.name - 2].text);
      item.names.insert(of);
      item.declares.clear();
      item.name = concat(of, "::", item.name);
      item.key = concat("v:", qualifier_of(scopes_), item.name);
    }
    return item;
  }

  // Returns whether the variable is a constant that no host code will write.
  // The compiler may fold it.
  bool is_own_copy(const Declarator& declarator) const {
    if (declarator.initializer == 0) return false;
    if (base_has("constexpr")) return true;
    if (base_has("__constant__") || !base_has("const")) return false;
    // "const int A::x = 3;" belongs to the class.
    return !is_pointer_mark(tokens_, declarator.name - 1) &&
           !tokens_.is(declarator.name - 1, "::") && declarator.group == 0;
  }

  // Returns the definition alone, with its lines where they were.
  std::string define(const Declarator& declarator, Item& item) const {
    std::string text;
    std::size_t line = static_cast<std::size_t>(item.line);
    const auto append = [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const Token& token = tokens_[i];
        const bool is_rest =  // the second '&' of "and"
            i > begin && tokens_[i - 1].end == token.end;
        for (; line < static_cast<std::size_t>(token.line); ++line)
          text += '\n';
        if (is_rest ||
            (is_dropped(tokens_, i) && i < declarators_.front().begin))
          continue;
        // Blanks stay as they are, because a macro may make a text of them.
        const bool is_joined = i > begin && tokens_[i - 1].end == token.offset;
        if (!text.empty() && !is_joined) text += ' ';
        if (i == declarator.name) item.name_at = text.size();
        // "<%" stays as well, because a macro distinguishes it from "{".
        const std::string written = tokens_.text(i, i + 1);
        text += written;
        line += static_cast<std::size_t>(std::ranges::count(written, '\n'));
      }
    };
    append(shape_.begin, declarators_.front().begin);
    append(declarator.begin, declarator.end);
    return text + ";";
  }

  // Returns the declaration "struct gpuos_of_x { float x[4]; }; extern
  // __device__ decltype(gpuos_of_x::x)& x;". This form works for every
  // declarator.
  std::string refer(const Declarator& declarator, const Item& item) const {
    std::string member;
    const auto append = [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        if (takes_argument(tokens_, i)) {
          i = tokens_.behind(i + 1) - 1;
          continue;
        }
        if (is_dropped(tokens_, i) || is_attribute(tokens_, i)) continue;
        if (!member.empty() && !is_one_operator(tokens_, i)) member += ' ';
        member += tokens_[i].text;
        if (i == declarator.name && tokens_.is(i + 1, "[") &&
            tokens_.is(i + 2, "]") && declarator.initializer != 0) {
          member += concat("[", count_of(tokens_, declarator), "]");
          i += 2;
        }
      }
    };
    append(shape_.begin, declarators_.front().begin);
    append(declarator.begin, declarator.initializer != 0
                                 ? declarator.initializer
                                 : declarator.end);
    const std::string holder = concat("gpuos_of_", item.name);
    return concat("struct ", holder, " { ", member, "; }; extern __device__ ",
                  item.is_constant ? "const " : "", "decltype(", holder,
                  "::", item.name, ")& ", item.name, ";");
  }

  // Returns the declaration "inline __device__ auto* gpuos_of_x() { return &y;
  // } extern __device__ decltype(gpuos_of_x())& x;". A function's result is
  // deduced like a variable.
  std::string refer_deduced(const Declarator& declarator,
                            const Item& item) const {
    const std::size_t value = declarator.initializer + 1;
    // "x(3)" and "x{3}" end with a bracket.
    const std::size_t end =
        declarator.end - (tokens_.is(declarator.initializer, "=") ? 0 : 1);
    if (declarator.initializer == 0 || tokens_.is(value, "{"))
      tokens_.fail(shape_.begin,
                   concat("expected the type of ", item.name, ", got auto"));
    std::string type;
    for (std::size_t i = shape_.begin; i < declarators_.front().begin; ++i) {
      if (takes_argument(tokens_, i)) {
        i = tokens_.behind(i + 1) - 1;
      } else if (!is_dropped(tokens_, i) && !is_attribute(tokens_, i)) {
        type += concat(tokens_[i].text, " ");
      }
    }
    type += tokens_.text(declarator.begin, declarator.name);
    const std::string holder = concat("gpuos_of_", item.name, "()");
    return concat("inline __device__ ", type, " ", holder, " { return ",
                  tokens_.text(value, end), "; } extern __device__ ",
                  item.is_constant ? "const " : "", "decltype(", holder, ")& ",
                  item.name, ";");
  }

  const TokenList& tokens_;
  const Shape& shape_;
  const std::vector<std::string>& scopes_;
  std::vector<Declarator> declarators_;
};

constexpr std::string_view kHolder = "gpuos_parts_of";

// Returns the '[' after "auto", "const auto&" or "auto&&", or 0 if there is
// none.
std::size_t find_names(const TokenList& tokens, const Shape& shape) {
  std::size_t i = shape.start;
  while (tokens.is_identifier(i) && !tokens.is(i, "auto")) ++i;
  if (!tokens.is(i, "auto")) return 0;
  do ++i;
  while (tokens.is_any(i, "const &"));
  return tokens.is(i, "[") ? i : 0;
}

// Gives the following text the place of the token, for the compiler's errors.
std::string at(const Token& token) {
  return concat("\n#line ", token.line, "\n",
                std::string(static_cast<std::size_t>(token.column) - 1, ' '));
}

Item variable(const Token& first, const std::vector<std::string>& scopes,
              const std::string& name) {
  Item item;
  item.kind = ItemKind::HostVariable;
  item.line = first.line;
  item.column = first.column;
  item.scopes = scopes;
  item.name = name;
  item.names.insert(name);
  item.declares.insert(name);
  item.key = concat("v:", qualifier_of(scopes), name);
  return item;
}

}  // namespace

std::vector<Item> variables(const TokenList& tokens, const Shape& shape,
                            const std::vector<std::string>& scopes) {
  return Variables(tokens, shape, scopes).run();
}

bool is_structured_binding(const TokenList& tokens, const Shape& shape) {
  return find_names(tokens, shape) != 0;
}

std::vector<Item> structured_binding(const TokenList& tokens,
                                     const Shape& shape,
                                     const std::vector<std::string>& scopes) {
  const std::size_t open = find_names(tokens, shape);
  const std::size_t behind = tokens.behind(open);
  std::string holder{kHolder};
  for (std::size_t i = open + 1; i < behind - 1; i += 2)
    holder += concat("_", tokens[i].text);

  std::string constant;
  for (std::size_t i = shape.start; i < open; ++i) {
    if (tokens.is(i, "const")) constant = "const ";
    if (tokens.is_any(i, "__device__ __constant__ __managed__ thread_local"))
      tokens.fail(i, concat("expected a variable after ", tokens[i].text,
                            ", got a structured binding; give its value one "
                            "name"));
  }
  std::size_t marks = open;
  while (tokens.is(marks - 1, "&")) --marks;

  std::vector<Item> items;
  Item& whole =
      items.emplace_back(variable(tokens[shape.begin], scopes, holder));
  // Without a reference, only the references to the parts are const.
  whole.text = concat(marks < open ? constant : "", "auto",
                      tokens.text(marks, open), " ");
  whole.name_at = whole.text.size();
  whole.text +=
      concat(holder, at(tokens[behind]), tokens.text(behind, shape.end));
  for (std::size_t i = open + 1; i < behind - 1; i += 2) {
    const std::string name(tokens[i].text);
    Item& part = items.emplace_back(variable(tokens[i], scopes, name));
    part.text = "auto& ";
    part.name_at = part.text.size();
    part.text += concat(name, " = ([]() -> auto& { ", constant, "auto&",
                        at(tokens[open]), tokens.text(open, behind), " = ",
                        holder, "; return ", name, "; }());");
  }
  return items;
}

bool holds_parts(std::string_view name) {
  return name.substr(name.rfind(':') + 1).starts_with(kHolder);
}

}  // namespace gpuos::session
