#include "host/compile_log.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "base/concat.h"

namespace gpuos::host {
namespace {

int number_before(std::string_view text, std::size_t& end) {
  const std::size_t colon = end == 0 ? text.npos : text.rfind(':', end - 1);
  if (colon == text.npos) return 0;
  int value = 0;
  const char* const begin = text.data() + colon + 1;
  const auto result = std::from_chars(begin, text.data() + end, value);
  if (result.ec != std::errc() || result.ptr != text.data() + end) return 0;
  end = colon;
  return value;
}

// "cell 3:4:7: error: ...", where the error begins at `at`.
SourcePlace place_before(std::string_view line, std::size_t at) {
  const int last = number_before(line, at);
  const int before = last == 0 ? 0 : number_before(line, at);
  SourcePlace place;
  place.line = before != 0 ? before : last;
  place.column = before != 0 ? last : 0;
  if (place.line != 0) place.file = line.substr(0, at);
  return place;
}

}  // namespace

std::string CompilerError::without_column() const {
  const std::size_t at = line.find(": ", place.file.size());
  return concat(place.file, ":", place.line, line.substr(at));
}

CompilerError first_error(const std::string& log) {
  for (std::string_view rest = log; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    std::size_t at = line.find(": error: ");
    if (at == line.npos) at = line.find(": fatal error: ");
    if (at != line.npos) return {std::string(line), place_before(line, at)};
  }
  if (log.empty()) return {"no message", {}};
  return {log.substr(0, log.find('\n')), {}};
}

std::string excerpt_of(const std::string& text, const SourcePlace& place) {
  std::string_view rest = text;
  for (int i = 1; i < place.line && !rest.empty(); ++i)
    rest.remove_prefix(std::min(rest.find('\n'), rest.size() - 1) + 1);
  const std::string_view line = rest.substr(0, rest.find('\n'));
  if (place.column == 0) return std::string(line);
  return concat(line, "\n",
                std::string(static_cast<std::size_t>(place.column - 1), ' '),
                "^");
}

}  // namespace gpuos::host
