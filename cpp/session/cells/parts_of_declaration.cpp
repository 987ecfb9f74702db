#include "session/cells/classify.h"

#include <algorithm>
#include <string>

#include "base/concat.h"

namespace gpuos::session {
namespace {

CellText blank_before(const TokenList& tokens, const Token& token) {
  return at_place(tokens.cell().name, token.line, token.column, "");
}

// Returns whether the declaration is like "struct P { int x; } p, *q;".
bool has_variables(const TokenList& tokens, const Shape& shape) {
  return shape.is_class() && shape.class_body != 0 && !shape.is_template &&
         tokens.behind(shape.class_body) + 1 != shape.end;
}

// Returns whether the declaration is like "typedef struct P Q;", which declares
// P.
bool names_class(const TokenList& tokens, const Shape& shape) {
  const std::size_t i = shape.start + 1;
  return tokens.is(shape.start, "typedef") && shape.class_body == 0 &&
         tokens.is_any(i, "struct class union") &&
         tokens.is_identifier(i + 1) && !tokens.is(i + 2, "<") &&
         !tokens.is(i + 2, "::");
}

// Returns "struct P { int x; };" and "P p, *q;".
CellText in_two(const TokenList& tokens, const Shape& shape) {
  const bool is_typedef = tokens.is(shape.begin, "typedef");
  const bool has_body = shape.class_body != 0;
  const std::size_t key = has_body ? shape.class_key : shape.start + 1;
  const std::size_t behind =
      has_body ? tokens.behind(shape.class_body) : key + 2;
  const Token& word = tokens[key];
  CellText cell = blank_before(tokens, word);
  const std::size_t begin = cell.text.size();
  cell.text += tokens.text(key, behind);
  std::string type;
  if (const std::size_t at =
          has_body ? find_class_name(tokens, shape) : key + 1;
      at != 0) {
    type = tokens[at].text;
  } else {
    std::size_t name = behind;
    while (!tokens.is_identifier(name) && name + 1 < shape.end) ++name;
    const bool is_one_name = is_typedef && name == behind;
    type = concat(is_one_name ? "" : "gpuos_type_of_", tokens[name].text);
    std::size_t head = key + 1;  // The class may begin with "struct
                                 // __align__(8) {".
    while (!tokens.is(head, "{") && !tokens.is(head, ":")) ++head;
    const std::size_t before = tokens[head].offset - word.offset;
    cell.text.insert(begin + before, type + " ");
  }
  cell.text += ';';
  // In "typedef struct P { int x; } P, *Q;" the class already declares P.
  std::size_t first = behind;
  if (is_typedef && tokens.is(first, type) && !tokens.is(first + 1, "["))
    first += tokens.is(first + 1, ",") ? 2 : 1;
  if (!tokens.is(first, ";"))
    cell.text += concat(" ", tokens.plain(shape.begin, key), " ", type, " ",
                        tokens.text(first, shape.end));
  return cell;
}

// Returns where the first declarator of "int x, f(int);" begins. Returns 0 for
// a declaration without a comma, or for variables alone.
std::size_t first_of_list(const TokenList& tokens, const Shape& shape) {
  const bool has_function =
      shape.parameters != 0 && shape.body == 0 && shape.launch == 0 &&
      !shape.is_template && !shape.is_class() && !shape.commas.empty() &&
      !tokens.is(shape.start, "using") && !tokens.is(shape.start, "typedef");
  if (!has_function) return 0;
  std::size_t end = std::min(shape.commas.front(), shape.parameters);
  if (shape.initializer != 0) end = std::min(end, shape.initializer);
  while (tokens.is(end - 1, "]")) end = tokens.behind(end - 1) - 1;
  std::size_t begin = end - 1;
  if (!tokens.is_identifier(begin) || tokens.is(begin - 1, "::")) return 0;
  while (tokens.is_any(begin - 1, "* &")) --begin;
  return begin > shape.begin ? begin : 0;
}

// Returns "int x;" and "int f(int);" for "int x, f(int);".
std::vector<CellText> apart(const TokenList& tokens, const Shape& shape,
                            std::size_t first) {
  std::vector<CellText> parts;
  std::vector<std::size_t> ends = shape.commas;
  ends.push_back(shape.end - 1);
  for (std::size_t begin = first; const std::size_t end : ends) {
    CellText& cell =
        parts.emplace_back(blank_before(tokens, tokens[shape.begin]));
    cell.text += concat(tokens.text(shape.begin, first), " ",
                        tokens.text(begin, end), ";");
    begin = end + 1;
  }
  return parts;
}

}  // namespace

std::vector<CellText> parts_of_declaration(const TokenList& tokens,
                                           const Shape& shape) {
  if (has_variables(tokens, shape) || names_class(tokens, shape))
    return {in_two(tokens, shape)};
  const std::size_t first = first_of_list(tokens, shape);
  if (first == 0) return {};
  return apart(tokens, shape, first);
}

CellText without(const TokenList& tokens, const Shape& shape,
                 const std::vector<TokenRange>& ranges) {
  const Token& first = tokens[shape.begin];
  CellText cell = blank_before(tokens, first);
  const std::size_t before = cell.text.size();
  cell.text += tokens.text(shape.begin, shape.end);
  for (const TokenRange range : ranges) {
    const std::size_t begin = tokens[range.begin].offset;
    const std::size_t size = tokens[range.end - 1].end - begin;
    cell.text.replace(before + begin - first.offset, size, size, ' ');
  }
  return cell;
}

}  // namespace gpuos::session
