#include "session/own_headers.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "gpuos/error.h"

namespace gpuos::session {
namespace {

// A larger header is a library's and not the user's.
constexpr std::uintmax_t kMostBytes = 1u << 20;

std::optional<std::string> read_text(const std::filesystem::path& path) {
  std::error_code none;
  if (!std::filesystem::is_regular_file(path, none) ||
      std::filesystem::file_size(path, none) > kMostBytes)
    return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return in_plain_lines(std::string(std::istreambuf_iterator<char>(file), {}));
}

// Replaces "#ifndef A_H", "#define A_H" and "#endif" around a file with blanks.
std::string without_guard(const CellText& file) {
  const std::vector<Token> tokens = tokenize(file);
  const auto name_in = [&](const Token& token, std::string_view word) {
    if (directive_word(token.text) != word) return std::string_view();
    const std::size_t at = token.text.find(word) + word.size();
    const std::size_t begin = token.text.find_first_not_of(" \t", at);
    return begin == token.text.npos
               ? std::string_view()
               : token.text.substr(
                     begin, token.text.find_first_of(" \t\n", begin) - begin);
  };
  if (tokens.size() < 3) return file.text;
  const std::string_view guard = name_in(tokens[0], "ifndef");
  if (guard.empty() || guard != name_in(tokens[1], "define")) return file.text;
  int depth = 0;
  for (const Token& token : tokens) {
    if (token.kind != TokenKind::Directive) continue;
    const std::string_view word = directive_word(token.text);
    if (word.starts_with("if")) ++depth;
    if (word.starts_with("el") && depth == 1) return file.text;
    if (word == "endif") --depth;
    const bool is_last = token.offset == tokens.back().offset;
    if ((depth == 0) != is_last) return file.text;
  }
  std::string text = file.text;
  for (const Token* token : {&tokens[0], &tokens[1], &tokens.back()})
    text.replace(token->offset, token->text.size(), token->text.size(), ' ');
  return text;
}

}  // namespace

std::optional<CellText> find_own_header(std::string_view line,
                                        const std::string& from,
                                        std::span<const std::string> folders) {
  if (directive_word(line) != "include") return std::nullopt;
  const std::size_t open = line.find_first_of("<\"");
  if (open == line.npos || line[open] == '<') return std::nullopt;
  const std::size_t close = line.find('"', open + 1);
  if (close == line.npos) return std::nullopt;
  const std::string_view name = line.substr(open + 1, close - open - 1);
  std::vector<std::filesystem::path> places;
  if (from.find('/') != from.npos)
    places.push_back(std::filesystem::path(from).parent_path());
  places.insert(places.end(), folders.begin(), folders.end());
  for (const std::filesystem::path& place : places) {
    const std::filesystem::path path = (place / name).lexically_normal();
    const auto text = read_text(path);
    if (!text) continue;
    CellText file{path.string(), *text, *text};
    try {
      file.text = without_guard(file);
    } catch (const CompileError&) {
      return std::nullopt;  // a compiler may read it
    }
    return file;
  }
  return std::nullopt;
}

}  // namespace gpuos::session
