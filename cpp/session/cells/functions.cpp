#include "session/cells/functions.h"

#include <algorithm>

#include "base/concat.h"

namespace gpuos::session {
namespace {

// Returns the parameters between the parentheses, without default arguments.
std::vector<TokenRange> parameters_of(const TokenList& tokens,
                                      std::size_t open) {
  std::vector<TokenRange> found;
  const std::size_t close = tokens.behind(open) - 1;
  std::size_t begin = open + 1;
  std::size_t end = 0;  // where the default argument begins
  const auto finish = [&](std::size_t at) {
    while (begin < at && tokens.is(begin, "[")) begin = tokens.behind(begin);
    if (at > begin) found.push_back({begin, end != 0 ? end : at});
    begin = at + 1;
    end = 0;
  };
  for (std::size_t i = begin; i < close;) {
    if (tokens.is_any(i, "( [ {")) {
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
  return tokens.is_any(i, "const volatile struct class typename");
}

// Returns whether the token names a parameter. It does in "int* x", "int const
// n", "Point p" and "unsigned n". It does not in "int*", "const Point" and
// "a::Point".
bool is_parameter_name(const TokenList& tokens, std::size_t begin,
                       std::size_t i) {
  if (i <= begin || !tokens.is_identifier(i) || is_keyword(tokens[i].text))
    return false;
  std::size_t before = i - 1;
  while (before > begin && tokens.is_any(before, "const volatile")) --before;
  return !is_qualifier(tokens, before) && !tokens.is(before, "::");
}

bool is_group(const TokenList& tokens, std::size_t i) {
  return tokens.is(i, "(") && !tokens.is(i + 1, "const") &&
         behind_marks(tokens, i + 1) > i + 1;
}

// Returns the first "(*" or "[" of a declarator, or `end` if it has none.
std::size_t find_bracket(const TokenList& tokens, TokenRange range,
                         std::string_view bracket) {
  for (std::size_t i = range.begin; i < range.end;) {
    if (tokens.is(i, bracket) && (bracket != "(" || is_group(tokens, i)))
      return i;
    if (tokens.is_any(i, "( [")) {
      i = tokens.behind(i);
    } else if (tokens.is(i, "<") && tokens.behind_angles(i) > i) {
      i = tokens.behind_angles(i);
    } else {
      ++i;
    }
  }
  return range.end;
}

ParameterPlace place_of(const TokenList& tokens, TokenRange range) {
  const std::size_t begin = range.begin;
  bool is_in_group = false;
  for (std::size_t open = find_bracket(tokens, range, "("); open < range.end;
       open = find_bracket(tokens, range, "(")) {
    range = {behind_marks(tokens, open + 1), tokens.behind(open) - 1};
    is_in_group = true;
  }
  const std::size_t end = find_bracket(tokens, range, "[");
  const bool is_named =
      end > range.begin &&
      (is_in_group ? tokens.is_identifier(end - 1)
                   : is_parameter_name(tokens, begin, end - 1));
  return {is_named ? end - 1 : end, is_named};
}

// Returns whether a type does not change without this word.
bool is_idle(const TokenList& tokens, std::size_t i) {
  return tokens.is_any(
      i, "__restrict__ __restrict struct class union enum typename");
}

using Words = std::vector<std::string>;

// Returns the words with "const" before its type, and integers in one spelling.
Words plain_base(Words words) {
  const auto take = [&](const char* word) {
    return std::erase(words, word) > 0;
  };
  const auto has = [&](const char* word) {
    return std::ranges::find(words, word) != words.end();
  };
  const bool is_const = take("const");
  const bool is_volatile = take("volatile");
  if (has("unsigned") || has("long") || has("short")) take("int");
  if (!has("char") && take("signed") && words.empty()) words = {"int"};
  if (has("unsigned") || has("long")) std::ranges::sort(words);
  if (is_volatile) words.insert(words.begin(), "volatile");
  if (is_const) words.insert(words.begin(), "const");
  return words;
}

// Returns one text for all spellings of a parameter's type.
std::string type_of(const TokenList& tokens, TokenRange range) {
  const ParameterPlace place = place_of(tokens, range);
  const std::size_t group = find_bracket(tokens, range, "(");
  std::size_t end = std::min(group, find_bracket(tokens, range, "["));
  Words base;
  Words marks;
  for (std::size_t i = range.begin; i < end;) {
    const std::size_t behind = std::max(i + 1, tokens.behind_angles(i));
    const bool is_mark = tokens.is_any(i, "* &");
    if (!(i == place.at && place.is_named) && !is_idle(tokens, i))
      (is_mark || !marks.empty() ? marks : base)
          .push_back(tokens.plain(i, behind));
    i = behind;
  }
  std::string tail;
  if (group == range.end && end < range.end) {
    end = tokens.behind(end);  // the first extent does not count
    tail = end < range.end ? " ( * )" : " *";
  } else if (group == range.end) {
    // Callers do not see if a function's own copy is const.
    while (!marks.empty() &&
           (marks.back() == "const" || marks.back() == "volatile"))
      marks.pop_back();
    if (marks.empty()) {
      std::erase(base, "const");
      std::erase(base, "volatile");
    }
  }
  std::string text;
  base = plain_base(std::move(base));
  base.insert(base.end(), marks.begin(), marks.end());
  for (const std::string& word : base)
    text += concat(text.empty() ? "" : " ", word);
  text += tail;
  for (std::size_t i = end; i < range.end; ++i) {
    if (!(i == place.at && place.is_named) && !is_idle(tokens, i))
      text += concat(" ", tokens[i].text);
  }
  return text;
}

// Returns where the "<...>" before the token at `end` begins, or `end` if there
// is none.
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
  // The name is "f", or "f<int>" for a specialisation.
  if (!name.is_operator) i = begin_of_angles(tokens, shape.start, i) - 1;
  if (i > shape.start && tokens.is(i - 1, "~")) --i;
  // The loop reads "P::" and "P<T>::".
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
  for (const ParameterPlace place : parameter_places(tokens, open))
    names.emplace_back(place.is_named ? tokens[place.at].text : "");
  return names;
}

std::vector<ParameterPlace> parameter_places(const TokenList& tokens,
                                             std::size_t open) {
  std::vector<ParameterPlace> places;
  for (const TokenRange range : parameters_of(tokens, open))
    places.push_back(place_of(tokens, range));
  return places;
}

std::string parameter_key(const TokenList& tokens, std::size_t open) {
  std::string key = "(";
  for (const std::string& type : parameter_types(tokens, open))
    key += type + ",";
  return key + ")";
}

bool has_default_argument(const TokenList& tokens, std::size_t open) {
  return tokens.has_any(open + 1, tokens.behind(open) - 1, "=");
}

void refuse_static_locals(const TokenList& tokens, std::size_t body) {
  const std::size_t close = tokens.behind(body);
  for (std::size_t i = body; i < close; ++i) {
    if (!tokens.is(i, "static")) continue;
    bool is_shared_or_const = false;
    for (std::size_t j = i + 1; j < close && tokens.is_identifier(j); ++j) {
      is_shared_or_const |= tokens.is_any(j, "const constexpr __shared__");
    }
    if (!is_shared_or_const)
      tokens.fail(i,
                  "expected no static variable in a function: each linked "
                  "kernel would have its own; use a __device__ variable of the "
                  "session");
  }
}

}  // namespace gpuos::session
