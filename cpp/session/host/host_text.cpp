#include "session/host/host_text.h"

#include <algorithm>
#include <vector>

#include "base/concat.h"
#include "gpuos/error.h"
#include "session/cells/functions.h"
#include "session/cells/pieces.h"

namespace gpuos::session {
namespace {

// Returns where "m::k<float>" before the "<<<" at `i` begins.
std::size_t begin_of_callee(const TokenList& tokens, std::size_t i) {
  std::size_t begin = i;
  const auto fail = [&] {
    tokens.fail(i, "expected kernel<<<grid, block>>>(arguments)");
  };
  while (true) {
    if (begin == 0) fail();
    if (tokens.is(begin - 1, ">")) {
      int depth = 0;
      do {
        if (begin == 0) fail();
        --begin;
        if (tokens.is(begin, ">")) ++depth;
        if (tokens.is(begin, "<")) --depth;
      } while (depth > 0);
    }
    if (begin == 0 || !tokens.is_identifier(begin - 1)) fail();
    --begin;
    if (begin == 0 || !tokens.is(begin - 1, "::")) return begin;
    --begin;
    if (begin == 0 ||
        !(tokens.is_identifier(begin - 1) || tokens.is(begin - 1, ">")))
      return begin;
  }
}

struct StubParameters {
  std::string declared;  // "float* x, int gpuos_1 = 3"
  std::string passed;    // ", x, gpuos_1"
};

StubParameters stub_parameters(const TokenList& tokens, std::size_t open) {
  const std::size_t close = tokens.behind(open) - 1;
  const std::vector<ParameterPlace> places = parameter_places(tokens, open);
  StubParameters made;
  std::size_t index = 0;
  for (const TokenRange range : split_commas(tokens, open + 1, close)) {
    if (range.end == range.begin + 1 && tokens.is(range.begin, "void")) break;
    std::size_t head = range.begin;
    while (head < range.end && !tokens.is(head, "=")) ++head;
    const ParameterPlace place = places.at(index);
    const std::string name = place.is_named ? std::string(tokens[place.at].text)
                                            : concat("gpuos_", index);
    if (index > 0) made.declared += ", ";
    if (place.is_named) {
      made.declared += tokens.text(range.begin, head);
    } else {
      made.declared += concat(tokens.text(range.begin, place.at), " ", name,
                              " ", tokens.text(place.at, head));
    }
    made.declared += tokens.text(head, range.end);
    made.passed += ", " + name;
    ++index;
  }
  return made;
}

// Returns the arguments "T, N" for the parameters "typename T, int N = 4".
std::string instance_arguments(const TokenList& tokens, std::size_t begin,
                               std::size_t end) {
  std::string made;
  for (const TokenRange range : split_commas(tokens, begin, end)) {
    std::size_t head = range.begin;
    while (head < range.end && !tokens.is(head, "=")) ++head;
    const std::string name(tokens[head - 1].text);
    const bool is_type = tokens.is_any(range.begin, "typename class");
    made += made.empty() ? "" : ", ";
    made +=
        concat(is_type ? "::gpuos_host::name_of<" : "::gpuos_host::value_of<",
               name, ">()");
  }
  return made;
}

void blank(std::string& text, const Token& token) {
  text.replace(token.offset, token.text.size(), token.text.size(), ' ');
}

class TypeWriter {
 public:
  TypeWriter(const TokenList& tokens, std::string& text, bool is_for_host)
      : tokens_(tokens), text_(text), is_for_host_(is_for_host) {}

  // Writes the last member first, so that places before it stay valid.
  void write(std::size_t body) {
    std::vector<Shape> members;
    const std::size_t close = tokens_.behind(body) - 1;
    for (std::size_t i = body + 1; i < close;) {
      if (is_skipped(i)) {
        ++i;
        continue;
      }
      members.push_back(find_shape(tokens_, i, close));
      i = members.back().end;
    }
    std::ranges::reverse(members);
    for (const Shape& member : members) write_member(member);
  }

 private:
  bool is_skipped(std::size_t i) const {
    return tokens_.is_any(i, "; :") ||
           tokens_[i].kind == TokenKind::Directive ||
           (tokens_.is(i + 1, ":") &&
            tokens_.is_any(i, "public private protected"));
  }

  bool has(const Shape& member, std::string_view words, std::size_t end) const {
    return tokens_.has_any(member.begin, end, words);
  }

  void write_member(const Shape& member) {
    if (member.class_body != 0 && !has(member, "enum", member.class_body))
      return write(member.class_body);
    if (member.is_class()) return;
    if (member.parameters == 0) return write_variable(member);
    constexpr std::string_view kStays =
        "__global__ constexpr consteval using typedef static_assert concept "
        "default delete";
    const std::size_t end = member.body != 0 ? member.body : member.end;
    const bool is_of_device = has(member, "__device__", member.parameters);
    const bool is_there =
        is_for_host_
            ? !is_of_device || has(member, "__host__", member.parameters)
            : is_of_device;
    const bool is_deduced = has(member, "auto", end) && !has(member, "->", end);
    if (is_there || is_deduced || has(member, kStays, end)) return;
    // The member's parameters have types that the device does not have.
    if (!is_for_host_ &&
        (has(member, "friend", end) ||
         has(member, "std", tokens_.behind(member.parameters))))
      return blank(member.begin, member.end);
    if (member.body != 0) {
      const std::size_t head = end_of_head(member);
      const std::size_t at = tokens_[head].offset;
      blank(head, member.end);
      text_[at] = ';';
    }
    if (is_for_host_) return;
    for (std::size_t i = member.start; i < member.parameters; ++i) {
      if (tokens_.is(i, "__host__")) blank(i, i + 1);
    }
    text_.insert(tokens_[member.start].offset, "__device__ ");
  }

  // Writes "static int n;", which is a variable of the host.
  void write_variable(const Shape& member) {
    const bool is_static = has(member, "static", member.end) &&
                           !has(member, "const", member.end) &&
                           !has(member, "constexpr", member.end) &&
                           !has(member, "__device__", member.end);
    if (is_static && !is_for_host_) blank(member.begin, member.end);
  }

  // Returns where a definition continues after its declaration: ':' or '{'.
  std::size_t end_of_head(const Shape& member) const {
    std::size_t i = tokens_.behind(member.parameters);
    while (i < member.body && !tokens_.is(i, ":")) ++i;
    return i;
  }

  // Replaces tokens with blanks. Newlines stay, so lines keep their numbers.
  void blank(std::size_t begin, std::size_t end) {
    for (std::size_t i = tokens_[begin].offset; i < tokens_[end - 1].end; ++i) {
      if (text_[i] != '\n') text_[i] = ' ';
    }
  }

  const TokenList& tokens_;
  std::string& text_;
  const bool is_for_host_;
};

// Puts the written type into `text` and returns true, if `item` is a type.
bool write_type(const Item& item, bool is_for_host, std::string& text) {
  if (item.kind != ItemKind::Header || !item.is_shared ||
      !item.key.starts_with("t:") || item.text.find('(') == item.text.npos)
    return false;
  try {
    const CellText place{"", item.text};
    const TokenList tokens(place);
    const Shape shape = find_shape(tokens, 0, tokens.size());
    if (shape.class_body == 0 || tokens.is(shape.class_key, "enum"))
      return false;
    text = item.text;
    TypeWriter(tokens, text, is_for_host).write(shape.class_body);
    return true;
  } catch (const CompileError&) {
    return false;  // the compiler reports the error
  }
}

}  // namespace

std::string with_launches(const Item& item, const std::string& cell) {
  if (item.text.find("<<<") == std::string::npos) return item.text;
  const CellText place = at_place(cell, item.line, item.column, item.text);
  const TokenList tokens(place);
  std::string text;
  std::size_t copied = place.text.size() - item.text.size();
  const auto copy_to = [&](std::size_t offset) {
    text.append(place.text, copied, offset - copied);
    copied = offset;
  };
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (!tokens.is(i, "<<<")) continue;
    std::size_t close = i + 1;
    while (close < tokens.size() && !tokens.is(close, ">>>")) ++close;
    if (close == tokens.size() || !tokens.is(close + 1, "("))
      tokens.fail(i, "expected kernel<<<grid, block>>>(arguments)");
    const std::size_t begin = begin_of_callee(tokens, i);
    copy_to(tokens[begin].offset);
    text += concat("(::gpuos_host::configure(", tokens.text(i + 1, close),
                   "), ", tokens.text(begin, i));
    copied = tokens[close + 1].offset;
    // Code in the parentheses may launch as well.
    const std::size_t behind = tokens.behind(close + 1) - 1;
    const Token& last = tokens[behind];
    Item inner;
    inner.text = place.text.substr(tokens[close + 1].offset,
                                   last.offset + 1 - tokens[close + 1].offset);
    inner.line = tokens[close + 1].line;
    inner.column = tokens[close + 1].column;
    text += with_launches(inner, cell) + ")";
    copied = last.offset + 1;
    i = behind;
  }
  copy_to(place.text.size());
  return text;
}

Item kernel_stub(const Item& kernel) {
  const CellText place{"", kernel.text};
  const TokenList tokens(place);
  const Shape shape = find_shape(tokens, 0, tokens.size());
  const StubParameters parameters = stub_parameters(tokens, shape.parameters);
  const std::string name = qualifier_of(kernel.scopes) + kernel.name;
  Item stub;
  stub.kind = ItemKind::Header;
  stub.name = kernel.name;
  stub.names = kernel.names;
  stub.declares = kernel.declares;
  stub.line = kernel.line;
  stub.column = kernel.column;
  stub.scopes = kernel.scopes;
  drop_linkage(stub);
  stub.key = concat("f:", qualifier_of(kernel.scopes), kernel.name,
                    parameter_key(tokens, shape.parameters));
  std::string head;
  std::string own = concat("{\"", name, "\", \"", kernel.key, "\"}");
  std::string function = "::gpuos_host::launch(";
  if (shape.is_template) {
    head = tokens.text(0, shape.start) + " ";
    function = "::gpuos_host::launch_instance(";
    own =
        concat("\"", name, "\", {",
               instance_arguments(tokens, 2, tokens.behind_angles(1) - 1), "}");
  }
  stub.text =
      concat(head, "static inline void ", kernel.name, "(", parameters.declared,
             ") { ", function, own, parameters.passed, "); }");
  for (char& c : stub.text) {
    if (c == '\n') c = ' ';
  }
  stub.header = stub.text;
  return stub;
}

Item launches_stub(const Item& function) {
  Item stub = function;
  stub.kind = ItemKind::Header;
  stub.text = concat("static inline void ", function.name,
                     "() { ::gpuos_host::calls->launches("
                     "::gpuos_host::calls->session, \"",
                     function.name, "\"); }");
  stub.header = stub.text;
  stub.result.clear();
  return stub;
}

void strip_defaults(Item& item) {
  if (item.defaults.empty()) return;
  const CellText place{"", item.text};
  const TokenList tokens(place);
  const Shape shape = find_shape(tokens, 0, tokens.size());
  const std::size_t close = tokens.behind(shape.parameters) - 1;
  for (const TokenRange range :
       split_commas(tokens, shape.parameters + 1, close)) {
    std::size_t at = range.begin;
    while (at < range.end && !tokens.is(at, "=")) ++at;
    for (; at < range.end; ++at) blank(item.text, tokens[at]);
  }
}

void drop_linkage(Item& item) {
  std::erase_if(item.scopes, [](const std::string& scope) {
    return scope.starts_with("extern");
  });
}

void make_external(Item& item) {
  drop_linkage(item);
  const CellText place{"", item.text};
  const TokenList tokens(place);
  const Shape shape = find_shape(tokens, 0, tokens.size());
  for (std::size_t i = shape.start; i < shape.parameters; ++i) {
    const bool is_linkage = tokens[i].kind == TokenKind::Text && i > 0 &&
                            tokens.is(i - 1, "extern");
    if (tokens.is_any(i, "static inline extern") || is_linkage)
      blank(item.text, tokens[i]);
  }
  if (shape.body != 0 && !item.header.empty())
    item.header = item.text.substr(0, tokens[shape.body].offset) + ";";
}

void share_instances(Item& variable_template) {
  const CellText place{"", variable_template.text};
  const TokenList tokens(place);
  const Shape shape = find_shape(tokens, 0, tokens.size());
  // The mark that instances were made does not depend on the namespace.
  variable_template.text.insert(tokens[shape.start].offset,
                                "__attribute__((visibility(\"default\"))) ");
  variable_template.header = variable_template.text;
}

Item type_for_device(const Item& item) {
  Item made = item;
  std::string text;
  if (write_type(item, false, text)) made.header = text;
  return made;
}

Item type_for_host(const Item& item) {
  Item made = item;
  std::string text;
  if (write_type(item, true, text)) made.text = made.header = text;
  return made;
}

}  // namespace gpuos::session
