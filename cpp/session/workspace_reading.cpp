// This file has the parts of a workspace that read a cell: names, macros and
// headers.
#include <algorithm>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/concat.h"
#include "gpuos/error.h"
#include "session/cells/tokens.h"
#include "session/workspace.h"

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
// Returns path and text of `#include "a.h"`, without the guard around the
// text. The file is next to the file `from`, or in one of the session's
// folders. Returns nothing for another line, and for a file that cannot be
// read.

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

// Spells "%:define" as "# define", which the session searches for.
std::string with_plain_directives(std::string text) {
  if (text.find("%:") == text.npos) return text;
  const CellText cell{"", text};
  for (const Token& token : tokenize(cell)) {
    if (token.kind == TokenKind::Directive && token.text.starts_with('%'))
      text.replace(token.offset, 2, "# ");
  }
  return text;
}

bool has_include(const std::string& text) {
  return text.find("#include") != text.npos;
}

}  // namespace

CellReport Workspace::run(std::string_view text, std::string_view name) {
  CellText cell{name.empty() ? concat("cell ", cells_ + 1) : std::string(name),
                ""};
  cell.written = in_plain_lines(text);
  cell.text = with_plain_directives(cell.written);
  const bool has_includes = host_.has_includes() || has_include(cell.text);
  Macros macros = macros_;
  MacroDoubts doubts;
  std::string expanded = macros.expand(cell, doubts);
  // The preprocessor is asked for macros of headers only if a name can only be
  // such a macro.
  const auto look_for = [&](const std::set<std::string>& names) {
    if (names.empty() || !has_includes) return false;
    Macros more = macros_;
    // Without directives the preprocessor has the macros of the earlier cells.
    const CellText asked{
        cell.name, cell.text.find('#') == cell.text.npos ? "" : cell.text};
    if (!more.take_some(host_.macros_of(asked), names)) return false;
    macros = std::move(more);
    expanded = macros.expand(cell, doubts);
    return true;
  };
  look_for(MacroDoubts(doubts).urgent);
  const std::string first = expanded;
  const auto run_expanded = [&] {
    reading_ = macros;
    CellReport report = run_text({cell.name, expanded, cell.written});
    current_.record([this, before = macros_, packs = packs_] {
      macros_ = before;
      packs_ = packs;
    });
    macros_ = macros;
    packs_ = reading_packs_;
    return report;
  };
  std::exception_ptr error;
  try {
    return run_expanded();
  } catch (const CompileError&) {
    error = std::current_exception();
  }
  look_for(MacroDoubts(doubts).possible);
  if (expanded != first) return run_expanded();
  if (!has_headers_) std::rethrow_exception(error);
  // A compiler reads more than a session does.
  takes_headers_ = false;
  try {
    CellReport report = run_expanded();
    takes_headers_ = true;
    return report;
  } catch (...) {
    takes_headers_ = true;
    std::rethrow_exception(error);
  }
}

NameKind Workspace::kind_of_name(std::string_view name, bool is_needed) const {
  const NameKind macro =
      reading_.kind_of(name, [this](std::string_view other, bool needs_other) {
        return kind_of_name(other, needs_other);
      });
  if (macro != NameKind::Unknown) return macro;
  const NameKind own = header_.kind_of(std::string(name));
  if (own != NameKind::Unknown) return own;
  const NameKind known = host_.kind_of(name);
  const auto answer = answers_.find(std::string(name));
  if (known != NameKind::Unknown || !is_needed || answer == answers_.end())
    return known;
  return answer->second;
}

bool Workspace::ask(const std::set<std::string>& names,
                    const std::vector<Item>& items, const CellText& cell) {
  answers_ = host_.ask(names, items, cell);
  return !answers_.empty();
}

std::vector<Item> Workspace::split(const CellText& cell) {
  answers_.clear();
  reading_packs_ = packs_;
  const Known known{.kind_of =
                        [this](std::string_view name, bool is_needed) {
                          return kind_of_name(name, is_needed);
                        },
                    .is_namespace =
                        [this](std::string_view name) {
                          const std::string outer(name);
                          return header_.find_within(outer) != nullptr ||
                                 host_.header().find_within(outer) != nullptr;
                        },
                    .ask =
                        [&](const std::set<std::string>& names,
                            const std::vector<Item>& items) {
                          return ask(names, items, cell);
                        },
                    .packs = &reading_packs_,
                    .find_header =
                        [this](std::string_view line, const std::string& from) {
                          return find_header(line, from);
                        }};
  return split_cell(
      cell, [&](const Conditional& given) { return choose(given, cell); },
      known);
}

void Workspace::keep_headers(const std::vector<Item>& items) {
  current_.record([this, before = headers_] { headers_ = before; });
  for (const Item& item : items) {
    if (!item.file.empty()) headers_[item.file] = host_.text_of(item.file);
  }
}

std::optional<CellText> Workspace::find_header(std::string_view line,
                                               const std::string& from) {
  if (!takes_headers_) return std::nullopt;
  auto file = find_own_header(line, from, folders_);
  if (!file) return file;
  const auto known = headers_.find(file->name);
  if (known != headers_.end() && known->second == file->written) {
    file->text.clear();
    return file;
  }
  host_.keep_text(file->name, file->written);
  MacroDoubts doubts;
  std::string expanded = Macros(reading_).expand(*file, doubts);
  Macros more = reading_;
  const CellText include{file->name, std::string(line)};
  if (!doubts.urgent.empty() &&
      more.take_some(host_.macros_of(include), doubts.urgent))
    expanded = more.expand(*file, doubts);
  file->text = std::move(expanded);
  return file;
}

}  // namespace gpuos::session
