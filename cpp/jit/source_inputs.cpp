#include "jit/source_inputs.h"

#include <algorithm>
#include <string>

#include "embedded.h"

namespace gpuos::jit {
namespace {

constexpr std::string_view kBlank = " \t\r\v\f";

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != text.npos;
}

void skip_blank(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlank), text.size()));
}

bool skip(std::string_view& text, std::string_view part) {
  skip_blank(text);
  if (!text.starts_with(part)) return false;
  text.remove_prefix(part.size());
  return true;
}

// A backslash joins a line to the next one.
std::string joined_lines(std::string_view source) {
  std::string joined;
  while (!source.empty()) {
    const std::size_t end = std::min(source.find('\n'), source.size());
    std::string_view line = source.substr(0, end);
    source.remove_prefix(std::min(end + 1, source.size()));
    const std::size_t last = line.find_last_not_of(kBlank);
    if (last != line.npos && line[last] == '\\') {
      joined += line.substr(0, last);
    } else {
      joined += line;
      joined += '\n';
    }
  }
  return joined;
}

bool is_embedded(std::string_view name) {
  constexpr std::string_view kFolder = "gpuos/";
  if (name.starts_with(kFolder)) name.remove_prefix(kFolder.size());
  return std::ranges::any_of(embedded_files(), [&](const EmbeddedFile& file) {
    return file.name == name;
  });
}

// #include "operator.h", with at most a // comment behind it.
bool includes_embedded(std::string_view line) {
  if (!skip(line, "#") || !skip(line, "include")) return false;
  skip_blank(line);
  if (line.empty() || (line.front() != '"' && line.front() != '<'))
    return false;
  const std::size_t end = line.find(line.front() == '"' ? '"' : '>', 1);
  if (end == line.npos || !is_embedded(line.substr(1, end - 1))) return false;
  line.remove_prefix(end + 1);
  skip_blank(line);
  return line.empty() || line.starts_with("//");
}

bool is_comment(std::string_view line) {
  skip_blank(line);
  // It might end a longer comment in the middle of a directive.
  return line.starts_with("//") && !has(line, "*/");
}

bool may_open_file(std::string_view line) {
  if (has(line, "include"))
    return !includes_embedded(line) && !is_comment(line);
  return has(line, "embed") &&
         (has(line, "#") || has(line, "%:") || has(line, "__has_embed"));
}

}  // namespace

bool stands_alone(std::string_view source) {
  for (const std::string_view clock :
       {"__DATE__", "__TIME__", "__TIMESTAMP__"}) {
    if (has(source, clock)) return false;
  }
  const std::string joined = joined_lines(source);
  for (std::string_view rest = joined; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    if (may_open_file(rest.substr(0, end))) return false;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return true;
}

}  // namespace gpuos::jit
