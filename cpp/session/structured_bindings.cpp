#include "session/structured_bindings.h"

#include "base/concat.h"

namespace gpuos::session {
namespace {

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
