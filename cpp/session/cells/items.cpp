#include "session/cells/items.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <utility>

#include "base/concat.h"
#include "gpuos/error.h"
#include "session/cells/classify.h"
#include "session/cells/functions.h"
#include "session/cells/pieces.h"
#include "session/cells/statements.h"

namespace gpuos::session {
namespace {

constexpr std::string_view kOwnNamespace = "inline namespace gpuos_";

// Returns whether the item is a variable that one text makes in each object
// that has the text.
bool has_storage(const Item& item) {
  const bool is_template = item.key.starts_with("v:template ");
  return (is_template && item.text.find("constexpr") == item.text.npos) ||
         item.text.find("static ") != item.text.npos;
}

// Returns whether the compiler must choose a part of "#if ... #endif" for it.
bool is_code(const Item& item) {
  if (item.kind == ItemKind::Header) return has_storage(item);
  return item.kind != ItemKind::Directive && item.kind != ItemKind::Declaration;
}

// Returns whether the item has one meaning on both sides.
bool is_text(const Item& item) {
  return item.kind == ItemKind::Directive ||
         (item.kind == ItemKind::Header && !has_storage(item));
}

class Splitter {
 public:
  Splitter(const CellText& cell, const Choose& choose, const Known& known)
      : tokens_(cell), choose_(choose), known_(known) {
    if (known.packs != nullptr) packs_ = *known.packs;
  }
  Splitter(const Splitter&) = delete;
  Splitter& operator=(const Splitter&) = delete;

  std::vector<Item> run() {
    split(0, tokens_.size(), {});
    if (known_.packs != nullptr) *known_.packs = packs_;
    return std::move(items_);
  }

  /// Returns unknown names that decide how the cell is read.
  const std::set<std::string>& doubts() const { return doubts_; }

 private:
  void split(std::size_t begin, std::size_t end,
             const std::vector<std::string>& scopes) {
    for (std::size_t i = begin; i < end;) {
      if (tokens_[i].kind == TokenKind::Directive) {
        i = split_directive(i, end, scopes);
      } else if (tokens_.is(i, ";")) {
        ++i;
      } else if (tokens_.is(i, "_Pragma") && tokens_.is(i + 1, "(")) {
        const std::size_t behind = tokens_.behind(i + 1);
        if (tokens_.text(i, behind).find("\"pack") != std::string::npos)
          tokens_.fail(i, "expected #pragma pack, got _Pragma");
        i = behind;  // _Pragma of warnings
      } else if (const std::size_t open = find_scope(i); open != 0) {
        std::vector<std::string> inner = scopes;
        std::string name = scope_name(i, open);
        // In one session an unnamed namespace changes nothing.
        if (name != "namespace") inner.push_back(std::move(name));
        for (std::string& each : namespaces_of(qualifier_of(inner)))
          namespaces_.insert(std::move(each));
        split(open + 1, tokens_.behind(open) - 1, inner);
        i = tokens_.behind(open);
      } else if (const std::size_t wrapped =
                     find_wrapped_name(tokens_, i, kind_of_);
                 wrapped != 0) {
        i = split_unwrapped(i, wrapped, end, scopes);
      } else if (scopes.empty() && is_statement(tokens_, i, kind_of_)) {
        i = take_statement(i, end);
      } else {
        const Shape shape = find_shape(tokens_, i, end);
        if (const auto parts = parts_of_declaration(tokens_, shape);
            !parts.empty()) {
          for (const CellText& part : parts) split_other(part, scopes);
        } else if (const TokenRange range = find_namespace(shape, scopes);
                   range.begin < range.end) {
          split_within(shape, range, scopes);
        } else {
          for (Item& item : classify(tokens_, shape, scopes, kind_of_))
            take(std::move(item));
        }
        i = shape.end;
      }
    }
  }

  // Makes a header of the user a part of the cell. It must declare or define a
  // function or a variable, which exists once. Returns false if a compiler
  // reads the header instead.
  bool split_header(std::size_t i, const std::vector<std::string>& scopes) {
    if (known_.find_header == nullptr) return false;
    const auto file = known_.find_header(tokens_[i].text, tokens_.cell().name);
    if (!file) return false;
    if (file->text.empty() || headers_.contains(file->name)) return true;
    const Known known{.kind_of = kind_of_,
                      .is_namespace = is_namespace_,
                      .find_header = known_.find_header};
    std::vector<Item> items;
    try {
      Splitter inner(*file, choose_, known);
      inner.headers_ = headers_;
      inner.headers_.insert(file->name);
      inner.split(0, inner.tokens_.size(), scopes);
      if (std::ranges::all_of(inner.items_, is_text)) return false;
      headers_ = std::move(inner.headers_);
      items = std::move(inner.items_);
    } catch (const CompileError&) {
      return false;
    }
    for (Item& item : items) {
      if (item.file.empty()) item.file = file->name;
      take(std::move(item));
    }
    return true;
  }

  // Notes a "#pragma pack(push, 1)". It applies to the types after it, and to
  // no entry that another unit has there.
  bool take_pack(const Token& line) {
    const std::size_t open = line.text.find('(');
    if (directive_word(line.text) != "pragma" || open == line.text.npos)
      return false;
    const CellText cell{"", std::string(line.text.substr(open))};
    const std::string_view head = line.text.substr(0, open);
    if (head.substr(head.find("pragma") + 6).find("pack") == head.npos)
      return false;
    const TokenList words(cell);
    if (words.is(1, "push")) packs_.push_back(packs_.back());
    if (words.is(1, "pop") && packs_.size() > 1) packs_.pop_back();
    if (words.is(1, ")")) packs_.back().clear();
    // The last argument is the alignment, or the name of a push.
    const Token& last = words[words.behind(0) - 2];
    if (last.kind == TokenKind::Number) packs_.back() = last.text;
    return true;
  }

  void take(Item item) {
    if (!packs_.back().empty() && item.key.starts_with("t:")) {
      item.prefix = concat("#pragma pack(push, ", packs_.back(), ")");
      for (std::string* text : {&item.text, &item.header})
        *text += "\n#pragma pack(pop)";
    }
    for (const std::string& name : item.declares)
      kinds_[name] = kind_in(item, name);
    items_.push_back(std::move(item));
  }

  std::size_t take_statement(std::size_t i, std::size_t end) {
    const std::size_t behind = behind_jumps(i, end);
    Item item;
    item.kind = ItemKind::HostStatement;
    item.text = tokens_.text(i, behind);
    item.line = tokens_[i].line;
    item.column = tokens_[i].column;
    item.is_expression = is_expression(tokens_, i);
    items_.push_back(std::move(item));
    return behind;
  }

  // Returns the index after a statement, or after the last statement with a
  // label or a goto. All of these form one statement, as in a function.
  std::size_t behind_jumps(std::size_t i, std::size_t end) {
    std::size_t behind = behind_statement(tokens_, i, end);
    if (!jumps(tokens_, i, behind)) return behind;
    const auto goes_on = [&](std::size_t at) {
      if (at >= end || tokens_[at].kind == TokenKind::Directive ||
          find_wrapped_name(tokens_, at, kind_of_) != 0)
        return false;
      if (tokens_.is(at, ";") || is_statement(tokens_, at, kind_of_))
        return true;
      return tokens_.is_identifier(at) &&  // "f();" and "k<<<1, 1>>>();"
             !begins_declaration(tokens_[at].text) && find_scope(at) == 0 &&
             (tokens_.is(at + 1, "(") ||
              find_shape(tokens_, at, end).launch != 0);
    };
    for (std::size_t at = behind; goes_on(at);) {
      const std::size_t next = behind_statement(tokens_, at, end);
      if (jumps(tokens_, at, next)) behind = next;
      at = next;
    }
    return behind;
  }

  // Returns the '{' of a namespace or of extern "C" at `i`, or 0 if there is
  // none.
  std::size_t find_scope(std::size_t i) const {
    std::size_t j = i;
    if (tokens_.is(j, "inline") && tokens_.is(j + 1, "namespace")) ++j;
    if (tokens_.is(j, "namespace")) {
      ++j;
      while (tokens_.is_identifier(j) || tokens_.is(j, "::")) {
        if (tokens_.is(j, "inline"))
          tokens_.fail(j,
                       "expected an inline namespace of its own, got it "
                       "within another's name");
        ++j;
      }
      return tokens_.is(j, "{") ? j : 0;
    }
    const bool is_linkage = tokens_.is(j, "extern") && j + 2 < tokens_.size() &&
                            tokens_[j + 1].kind == TokenKind::Text;
    return is_linkage && tokens_.is(j + 2, "{") ? j + 2 : 0;
  }

  // Returns "namespace a::b", without blanks and comments between the tokens.
  std::string scope_name(std::size_t begin, std::size_t end) const {
    std::string name;
    for (std::size_t i = begin; i < end; ++i) {
      const bool is_joined = tokens_.is(i, "::") || tokens_.is(i - 1, "::");
      if (i > begin && !is_joined) name += ' ';
      name += tokens_[i].text;
    }
    return name;
  }

  // Splits "T (x);" as "T  x ;" and returns the index after it.
  std::size_t split_unwrapped(std::size_t i, std::size_t open, std::size_t end,
                              const std::vector<std::string>& scopes) {
    const Shape shape = find_shape(tokens_, i, end, open);
    const std::size_t close = tokens_.behind(open) - 1;
    const CellText cell =
        without(tokens_, shape, {{open, open + 1}, {close, close + 1}});
    split_other(cell, scopes);
    return shape.end;
  }

  // Splits "int n::f() { ... }" as "namespace n { int f() { ... } }".
  void split_within(const Shape& shape, TokenRange range,
                    std::vector<std::string> scopes) {
    const CellText cell = without(tokens_, shape, {range});
    std::string name = tokens_.plain(range.begin, range.end - 1);
    std::erase(name, ' ');
    scopes.push_back("namespace " + name);
    split_other(cell, scopes);
  }

  void split_other(const CellText& cell,
                   const std::vector<std::string>& scopes) {
    const Known known{.kind_of = kind_of_, .is_namespace = is_namespace_};
    Splitter inner(cell, choose_, known);
    inner.split(0, inner.tokens_.size(), scopes);
    for (Item& item : inner.items_) take(std::move(item));
  }

  // Returns "n::" or "n::m::" before the name of a function or a variable. The
  // namespace must be one of the cell or the session.
  TokenRange find_namespace(const Shape& shape,
                            const std::vector<std::string>& scopes) const {
    const bool defines = shape.launch == 0 && !shape.is_class() &&
                         !tokens_.is(shape.start, "using") &&
                         !tokens_.is(shape.start, "namespace");
    if (!defines) return {0, 0};
    const std::size_t begin = begin_of_name(shape);
    TokenRange found{begin, begin};
    std::string name = qualifier_of(scopes);
    for (std::size_t i = begin; tokens_.is(i + 1, "::"); i += 2) {
      name += tokens_[i].text;
      if (!is_namespace_(name)) break;
      name += "::";
      found.end = i + 2;
    }
    return found;
  }

  // Returns the begin of "n::f" in "int n::f()" and "int (*n::f[2])() = ...".
  std::size_t begin_of_name(const Shape& shape) const {
    if (shape.parameters != 0) return function_name(tokens_, shape).begin;
    std::size_t last = shape.end - 1;
    if (shape.initializer != 0) last = shape.initializer;
    if (shape.group != 0) last = tokens_.behind(shape.group) - 1;
    --last;
    while (tokens_.is(last, "]")) last = tokens_.behind(last) - 2;
    while (last >= shape.start + 2 && tokens_.is(last - 1, "::") &&
           tokens_.is_identifier(last - 2))
      last -= 2;
    return last;
  }

  // Splits one line, or all lines from #if to its #endif.
  std::size_t split_directive(std::size_t i, std::size_t end,
                              const std::vector<std::string>& scopes) {
    if (split_header(i, scopes) || take_pack(tokens_[i])) return i + 1;
    if (!directive_word(tokens_[i].text).starts_with("if")) {
      take_directives(i, i + 1, scopes);
      return i + 1;
    }
    const std::vector<Part> parts = parts_of(i, end);
    const std::size_t behind = parts.back().end + 1;
    if (!split_chosen(parts, scopes)) take_directives(i, behind, scopes);
    return behind;
  }

  Item directive(std::size_t begin, std::size_t end,
                 const std::vector<std::string>& scopes) const {
    Item item;
    item.kind = ItemKind::Directive;
    item.line = tokens_[begin].line;
    item.column = tokens_[begin].column;
    item.text = tokens_.text(begin, end);
    item.header = item.text;
    item.scopes = scopes;
    item.is_always = true;
    item.is_shared = !is_runtime(begin);
    item.key = concat("#", tokens_.plain(begin, end));
    return item;
  }

  void take_directives(std::size_t begin, std::size_t end,
                       const std::vector<std::string>& scopes) {
    Item item = directive(begin, end, scopes);
    for (std::size_t i = begin; i < end; ++i) {
      refuse_conditional_definition(i, begin);
      add_macro(tokens_[i].text, item);
    }
    if (directive_word(item.text) != "pragma" ||
        item.text.find("once") == item.text.npos)
      items_.push_back(std::move(item));
  }

  // Holds "#elif B" and the tokens after it.
  struct Part {
    std::size_t line;
    std::size_t end;  // its next line
  };

  std::vector<Part> parts_of(std::size_t begin, std::size_t end) const {
    std::vector<Part> parts = {{begin, end}};
    int depth = 1;
    for (std::size_t i = begin + 1; i < end; ++i) {
      if (tokens_[i].kind != TokenKind::Directive) continue;
      const std::string_view word = directive_word(tokens_[i].text);
      if (word.starts_with("if")) ++depth;
      if (word == "endif") --depth;
      if (depth > 1 || (depth == 1 && !word.starts_with("el"))) continue;
      parts.back().end = i;
      if (depth == 0) return parts;
      parts.push_back({i, end});
    }
    tokens_.fail(begin, "expected #endif, got the end of the cell");
  }

  // Splits the part that the compiler chooses. Returns false if the parts hold
  // only types and macros, because then each side chooses for itself.
  bool split_chosen(const std::vector<Part>& parts,
                    const std::vector<std::string>& scopes) {
    std::vector<Item> held;
    for (const Part& part : parts) {
      for (Item& item : held_by(part, scopes)) held.push_back(std::move(item));
    }
    if (std::ranges::none_of(held, is_code)) return false;
    if (is_trial_) {
      std::ranges::move(held, std::back_inserter(items_));
      return true;
    }
    Conditional conditional;
    std::ranges::copy_if(
        items_, std::back_inserter(conditional.before),
        [](const Item& item) { return item.kind == ItemKind::Directive; });
    for (const Part& part : parts)
      conditional.lines.push_back(directive(part.line, part.line + 1, {}));
    conditional.has_host_code = std::ranges::any_of(held, &Item::is_host);
    const std::size_t chosen = choose_(conditional);
    if (chosen < parts.size())
      split(parts[chosen].line + 1, parts[chosen].end, scopes);
    return true;
  }

  // Returns the items of one of the parts. Returns none if the part is no code
  // by itself and may never be compiled.
  std::vector<Item> held_by(const Part& part,
                            const std::vector<std::string>& scopes) {
    for (std::size_t i = part.line + 1; i < part.end; ++i) {
      const std::size_t behind = tokens_.behind(i);
      if (behind > part.end || (behind > 1 && behind <= part.line + 1))
        return {};
    }
    std::vector<Item> before = std::exchange(items_, {});
    const auto kinds = kinds_;
    const std::set<std::string> namespaces = namespaces_;
    const bool was_trial = std::exchange(is_trial_, true);
    try {
      split(part.line + 1, part.end, scopes);
    } catch (const CompileError&) {
      items_.clear();
    }
    is_trial_ = was_trial;
    kinds_ = kinds;
    namespaces_ = namespaces;
    return std::exchange(items_, std::move(before));
  }

  // Returns whether the line includes CUDA's runtime, whose names a session
  // defines itself for host code.
  bool is_runtime(std::size_t i) const {
    const std::string_view line = tokens_[i].text;
    if (directive_word(line) != "include") return false;
    constexpr std::array kNames = std::to_array<std::string_view>(
        {"cuda_runtime.h", "cuda_runtime_api.h", "device_launch_parameters.h"});
    return std::ranges::any_of(kNames, [&](std::string_view name) {
      return line.find(concat("<", name, ">")) != line.npos ||
             line.find(concat("\"", name, "\"")) != line.npos;
    });
  }

  void refuse_conditional_definition(std::size_t at, std::size_t begin) const {
    if (tokens_.is_any(at, "__device__ __global__ __constant__ <<<"))
      tokens_.fail(
          begin,
          concat("expected #if around types and macros only, got ",
                 tokens_[at].text, " in it; put #if inside of the function"));
  }

  static void add_macro(std::string_view line, Item& item) {
    const std::string_view word = directive_word(line);
    if (word != "define" && word != "undef") return;
    const std::size_t begin =
        line.find_first_not_of(" \t", line.find(word) + word.size());
    if (begin == line.npos) return;
    const std::size_t end = line.find_first_of(" \t(\n", begin);
    item.names.emplace(line.substr(begin, end - begin));
    item.name = line.substr(begin, end - begin);
  }

  TokenList tokens_;
  const Choose& choose_;
  const Known& known_;
  bool is_trial_ = false;  // a trial takes no items
  const KindOf kind_of_ = [this](std::string_view given, bool is_needed) {
    const std::string name(given);
    const auto found = kinds_.find(name);
    if (found != kinds_.end() && found->second != NameKind::Unknown)
      return found->second;
    const NameKind kind = known_.kind_of == nullptr
                              ? NameKind::Unknown
                              : known_.kind_of(name, is_needed);
    if (kind == NameKind::Unknown && is_needed) doubts_.insert(name);
    return kind;
  };
  const std::function<bool(std::string_view)> is_namespace_ =
      [this](std::string_view name) {
        return namespaces_.contains(std::string(name)) ||
               (known_.is_namespace != nullptr && known_.is_namespace(name));
      };
  std::map<std::string, NameKind> kinds_;  // kinds of this cell's names
  std::set<std::string> doubts_;
  std::set<std::string> headers_;     // headers that are parts of the cell
  std::set<std::string> namespaces_;  // "a" and "a::b"
  std::vector<std::string> packs_ = {""};
  std::vector<Item> items_;
};

}  // namespace

std::vector<Item> split_cell(const CellText& cell, const Choose& choose,
                             const Known& known) {
  // The splitter asks once about each conditional.
  std::map<std::pair<int, int>, std::size_t> chosen;
  const Choose choose_once = [&](const Conditional& conditional) {
    const Item& line = conditional.lines.front();
    const auto [place, is_new] =
        chosen.try_emplace(std::pair(line.line, line.column));
    if (is_new) place->second = choose(conditional);
    return place->second;
  };
  Splitter splitter(cell, choose_once, known);
  const auto packs =
      known.packs != nullptr ? *known.packs : std::vector<std::string>();
  std::vector<Item> items = splitter.run();
  if (splitter.doubts().empty() || known.ask == nullptr ||
      !known.ask(splitter.doubts(), items))
    return items;
  if (known.packs != nullptr) *known.packs = packs;
  return Splitter(cell, choose_once, known).run();
}

std::string class_word_of(const Item& item) {
  const std::string word = item.text.substr(0, item.text.find_first_of(" \n"));
  const bool is_type =
      item.key.starts_with("t:") || item.key.starts_with("forward:");
  const bool is_class = is_one_of("struct class union enum", word);
  return is_type && is_class ? word : "";
}

bool is_function(const Item& item) {
  return item.key.starts_with("f:") || item.key.starts_with("declared:");
}

NameKind kind_in(const Item& item, const std::string& name) {
  const std::string& key = item.key;
  if (key.starts_with("v:") || is_function(item)) return NameKind::Value;
  const bool is_type = key.starts_with("t:") || key.starts_with("forward:");
  if (is_type && (name == item.name || item.text.starts_with("typedef")))
    return NameKind::Type;
  const bool is_enum = is_type || key.starts_with("text:enum");
  return is_enum ? NameKind::Value : NameKind::Unknown;
}

std::string own_namespace(const std::string& name) {
  return concat(kOwnNamespace, name,
                " __attribute__((visibility(\"default\")))");
}

bool is_own_namespace(std::string_view scope) {
  return scope.starts_with(kOwnNamespace);
}

std::string qualifier_of(const std::vector<std::string>& scopes) {
  constexpr std::string_view kWord = "namespace ";
  std::string qualifier;
  for (const std::string& scope : scopes) {
    const std::size_t at = scope.find(kWord);
    if (at == scope.npos || scope.starts_with("inline")) continue;
    qualifier += scope.substr(at + kWord.size());
    while (qualifier.ends_with(' ')) qualifier.pop_back();
    qualifier += "::";
  }
  return qualifier;
}

std::vector<std::string> namespaces_of(const std::string& qualifier) {
  std::vector<std::string> found;
  for (std::size_t at = qualifier.find("::"); at != qualifier.npos;
       at = qualifier.find("::", at + 2))
    found.push_back(qualifier.substr(0, at));
  return found;
}

}  // namespace gpuos::session
