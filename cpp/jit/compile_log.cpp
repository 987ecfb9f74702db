#include "jit/compile_log.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <vector>

#include "base/c_text.h"
#include "base/concat.h"

namespace gpuos::jit {
namespace {

// NVRTC writes these spaces before a line of the source and before its caret.
constexpr std::size_t kIndent = 2;

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) lines.push_back(cut_until(text, '\n'));
  return lines;
}

// Returns where the place of an error ends, which is before ": error: ...".
// Returns npos if `line` has no error.
std::size_t end_of_place(std::string_view line) {
  return std::min({line.find(": error"), line.find(": fatal error"),
                   line.find(": catastrophic error")});
}

bool may_tell_of_error(std::string_view line) {
  return line.find("error") != line.npos || line.find("fatal") != line.npos;
}

// Cuts ":7" or "(7)" from the end of `text`. Returns 0 if there is no number.
int cut_number(std::string_view& text, char sign) {
  const std::size_t begin = text.rfind(sign);
  if (begin == text.npos) return 0;
  const char* const end = text.data() + text.size() - (sign == '(' ? 1 : 0);
  int value = 0;
  const auto parsed = std::from_chars(text.data() + begin + 1, end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end || value <= 0) return 0;
  text = text.substr(0, begin);
  return value;
}

// Reads the place of "axpy.cu(3): error: ..." or "cell 3:4:7: error: ...".
SourcePlace place_in(std::string_view line) {
  const std::size_t end = end_of_place(line);
  if (end == line.npos) return {};
  std::string_view text = line.substr(0, end);
  SourcePlace place;
  if (text.ends_with(')')) {
    place.line = cut_number(text, '(');
  } else {
    place.column = cut_number(text, ':');
    place.line = place.column == 0 ? 0 : cut_number(text, ':');
    if (place.line == 0) std::swap(place.line, place.column);
  }
  if (place.line != 0) place.file = text;
  return place;
}

bool is_caret(std::string_view line) {
  const std::size_t first = line.find_first_not_of(" \t");
  return first != line.npos && first >= kIndent && line.substr(first) == "^";
}

std::string_view without_indent(std::string_view line) {
  return line.substr(std::min(kIndent, line.size()));
}

// Returns the line about an unknown type of a kernel's first parameter. NVRTC
// takes such a kernel for a variable and says so first.
std::size_t cause_of(const std::vector<std::string_view>& lines,
                     std::size_t error) {
  if (lines[error].find("does not apply here") == lines[error].npos)
    return error;
  const int line = place_in(lines[error]).line;
  for (std::size_t i = error + 1; i < lines.size(); ++i) {
    if (lines[i].ends_with("is undefined") && place_in(lines[i]).line == line)
      return i;
  }
  return error;
}

// Returns the text between `before` and the next quotation mark.
std::string quoted_after(std::string_view text, std::string_view before) {
  const std::size_t found = text.find(before);
  if (found == text.npos) return "";
  text.remove_prefix(found + before.size());
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  return std::string(text.substr(0, text.find('"')));
}

}  // namespace

std::string FirstError::without_column() const {
  return concat(place.file, ":", place.line, line.substr(end_of_place(line)));
}

FirstError first_error(const std::string& log) {
  const std::vector<std::string_view> lines = lines_of(log);
  auto found = std::ranges::find_if(lines, [](std::string_view line) {
    return end_of_place(line) != line.npos;
  });
  if (found == lines.end())
    found = std::ranges::find_if(lines, may_tell_of_error);
  if (found == lines.end())
    return {lines.empty() ? "no message" : std::string(lines.front()), {}};
  const std::size_t i =
      cause_of(lines, static_cast<std::size_t>(found - lines.begin()));
  FirstError error{std::string(lines[i]), place_in(lines[i])};
  SourcePlace& place = error.place;
  if (place.line == 0) return error;
  if (place.column == 0) error.line = error.without_column();
  if (i + 2 < lines.size() && is_caret(lines[i + 2])) {
    const std::string_view caret = without_indent(lines[i + 2]);
    place.column = static_cast<int>(caret.find('^')) + 1;
    place.excerpt = concat(without_indent(lines[i + 1]), "\n", caret);
  }
  return error;
}

std::string excerpt_of(const std::string& text, const SourcePlace& place) {
  const std::vector<std::string_view> lines = lines_of(text);
  const auto at = static_cast<std::size_t>(place.line - 1);
  const std::string_view line = at < lines.size() ? lines[at] : "";
  if (place.column == 0) return std::string(line);
  return concat(line, "\n",
                std::string(static_cast<std::size_t>(place.column - 1), ' '),
                "^");
}

std::string wrong_name_expression(const std::string& log) {
  return quoted_after(log, "Input name expression was: \"");
}

std::string missing_header(const std::string& line) {
  return quoted_after(line, "open source file \"");
}

}  // namespace gpuos::jit
