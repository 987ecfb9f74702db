#include "jit/compile_log.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <vector>

#include "base/concat.h"

namespace gpuos::jit {
namespace {

// The spaces that NVRTC writes before a line of the source and before its
// caret.
constexpr std::size_t kIndent = 2;

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

bool tells_of_error(std::string_view line) {
  return line.find("error") != line.npos || line.find("fatal") != line.npos;
}

// "axpy.cu(3): error: ..."
SourcePlace place_in(std::string_view line) {
  const std::size_t close = line.find("): ");
  if (close == line.npos) return {};
  const std::size_t open = line.rfind('(', close);
  if (open == line.npos) return {};
  SourcePlace place;
  const char* const begin = line.data() + open + 1;
  const char* const end = line.data() + close;
  const auto parsed = std::from_chars(begin, end, place.line);
  if (parsed.ec != std::errc() || parsed.ptr != end) return {};
  place.file = line.substr(0, open);
  return place;
}

bool is_caret(std::string_view line) {
  const std::size_t first = line.find_first_not_of(" \t");
  return first != line.npos && first >= kIndent && line.substr(first) == "^";
}

std::string_view without_indent(std::string_view line) {
  return line.substr(std::min(kIndent, line.size()));
}

// A kernel whose first parameter has an unknown type is a variable to NVRTC,
// which says so first. Returns the line about that type.
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

}  // namespace

FirstError first_error(const std::string& log) {
  const std::vector<std::string_view> lines = lines_of(log);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!tells_of_error(lines[i])) continue;
    i = cause_of(lines, i);
    FirstError error{std::string(lines[i]), place_in(lines[i])};
    SourcePlace& place = error.place;
    if (place.line == 0) return error;
    error.line = concat(place.file, ":", place.line,
                        lines[i].substr(lines[i].find("): ") + 1));
    if (i + 2 < lines.size() && is_caret(lines[i + 2])) {
      const std::string_view caret = without_indent(lines[i + 2]);
      place.column = static_cast<int>(caret.find('^')) + 1;
      place.excerpt = concat(without_indent(lines[i + 1]), "\n", caret);
    }
    return error;
  }
  return {log.substr(0, log.find('\n')), {}};
}

std::string wrong_name_expression(const std::string& log) {
  constexpr std::string_view kBefore = "Input name expression was: \"";
  const std::size_t found = log.find(kBefore);
  if (found == log.npos) return "";
  const std::size_t begin =
      std::min(log.find_first_not_of(' ', found + kBefore.size()), log.size());
  return log.substr(begin, log.find('"', begin) - begin);
}

std::string missing_header(const std::string& line) {
  constexpr std::string_view kBefore = "open source file \"";
  const std::size_t found = line.find(kBefore);
  if (found == line.npos) return "";
  const std::size_t begin = found + kBefore.size();
  return line.substr(begin, line.find('"', begin) - begin);
}

}  // namespace gpuos::jit
