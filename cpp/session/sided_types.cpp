#include "session/sided_types.h"

#include <algorithm>

#include "base/concat.h"
#include "gpuos/error.h"
#include "session/pieces.h"

namespace gpuos::session {
namespace {

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
    return false;  // the compiler says what is wrong
  }
}

}  // namespace

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
