#include "session/functions.h"

#include "base/concat.h"

namespace gpuos::session {
namespace {

// The parameters between the parentheses, without default arguments.
std::vector<TokenRange> parameters_of(const TokenList& tokens,
                                      std::size_t open) {
  std::vector<TokenRange> found;
  const std::size_t close = tokens.behind(open) - 1;
  std::size_t begin = open + 1;
  std::size_t end = 0;  // where the default argument begins
  const auto finish = [&](std::size_t at) {
    if (at > begin) found.push_back({begin, end != 0 ? end : at});
    begin = at + 1;
    end = 0;
  };
  for (std::size_t i = begin; i < close;) {
    if (tokens.is(i, "(") || tokens.is(i, "[") || tokens.is(i, "{")) {
      i = tokens.behind(i);
    } else if (tokens.is(i, "<") && tokens.behind_angles(i) > i) {
      i = tokens.behind_angles(i);
    } else {
      if (tokens.is(i, ",")) finish(i);
      if (tokens.is(i, "=") && end == 0) end = i;
      ++i;
    }
  }
  finish(close);
  return found;
}

bool is_qualifier(const TokenList& tokens, std::size_t i) {
  return tokens.is(i, "const") || tokens.is(i, "volatile") ||
         tokens.is(i, "struct") || tokens.is(i, "class") ||
         tokens.is(i, "typename");
}

// "int* x", "Point p", "unsigned n", but not "int*", "const Point", "a::Point".
bool is_parameter_name(const TokenList& tokens, std::size_t begin,
                       std::size_t i) {
  return i > begin && tokens.is_identifier(i) && !is_keyword(tokens[i].text) &&
         !is_qualifier(tokens, i - 1) && !tokens.is(i - 1, "::");
}

std::string type_of(const TokenList& tokens, TokenRange range) {
  std::size_t end = range.end;
  std::string tail;
  for (std::size_t i = range.begin; i < range.end; ++i) {
    if (!tokens.is(i, "[")) continue;
    end = i;
    tail = "[]";
    break;
  }
  if (end > range.begin && is_parameter_name(tokens, range.begin, end - 1))
    --end;
  std::string text;
  for (std::size_t i = range.begin; i < end; ++i) {
    if (tokens.is(i, "__restrict__")) continue;
    if (!text.empty()) text += ' ';
    text += tokens[i].text;
  }
  return text + tail;
}

// Where the "<...>" before the token at `end` begins; `end` if there is none.
std::size_t begin_of_angles(const TokenList& tokens, std::size_t begin,
                            std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) {
    if (tokens.is(i, "<") && tokens.behind_angles(i) == end) return i;
  }
  return end;
}

std::size_t find_operator(const TokenList& tokens, const Shape& shape) {
  for (std::size_t i = shape.start; i < shape.parameters; ++i) {
    if (tokens.is(i, "operator")) return i;
  }
  return shape.parameters;
}

}  // namespace

FunctionName function_name(const TokenList& tokens, const Shape& shape) {
  FunctionName name;
  std::size_t i = find_operator(tokens, shape);
  name.is_operator = i < shape.parameters;
  // "f" and, of a specialisation, "f<int>".
  if (!name.is_operator) i = begin_of_angles(tokens, shape.start, i) - 1;
  if (i > shape.start && tokens.is(i - 1, "~")) --i;
  // "P::" and "P<T>::"
  while (i >= shape.start + 2 && tokens.is(i - 1, "::")) {
    const std::size_t before = begin_of_angles(tokens, shape.start, i - 1);
    if (before <= shape.start || !tokens.is_identifier(before - 1)) break;
    i = before - 1;
    name.is_qualified = true;
  }
  name.begin = i;
  for (; i < shape.parameters; ++i) name.text += tokens[i].text;
  return name;
}

std::vector<std::string> parameter_types(const TokenList& tokens,
                                         std::size_t open) {
  std::vector<std::string> types;
  for (const TokenRange range : parameters_of(tokens, open)) {
    std::string type = type_of(tokens, range);
    if (type != "void") types.push_back(std::move(type));
  }
  return types;
}

std::vector<std::string> parameter_names(const TokenList& tokens,
                                         std::size_t open) {
  std::vector<std::string> names;
  for (const TokenRange range : parameters_of(tokens, open)) {
    const std::size_t last = range.end - 1;
    names.emplace_back(
        is_parameter_name(tokens, range.begin, last) ? tokens[last].text : "");
  }
  return names;
}

std::string parameter_key(const TokenList& tokens, std::size_t open) {
  std::string key = "(";
  for (const std::string& type : parameter_types(tokens, open))
    key += type + ",";
  return key + ")";
}

bool has_default_argument(const TokenList& tokens, std::size_t open) {
  const std::size_t close = tokens.behind(open) - 1;
  for (std::size_t i = open + 1; i < close; ++i) {
    if (tokens.is(i, "=")) return true;
  }
  return false;
}

void refuse_static_locals(const TokenList& tokens, std::size_t body) {
  const std::size_t close = tokens.behind(body);
  for (std::size_t i = body; i < close; ++i) {
    if (!tokens.is(i, "static")) continue;
    bool is_shared_or_const = false;
    for (std::size_t j = i + 1; j < close && tokens.is_identifier(j); ++j) {
      is_shared_or_const |= tokens.is(j, "const") ||
                            tokens.is(j, "constexpr") ||
                            tokens.is(j, "__shared__");
    }
    if (!is_shared_or_const)
      tokens.fail(i,
                  "expected no static variable in a function: each linked "
                  "kernel would have its own; use a __device__ variable of the "
                  "session");
  }
}

}  // namespace gpuos::session
