// This file has the parts of a workspace that read a cell: names, macros and
// headers.
#include <algorithm>
#include <exception>

#include "base/concat.h"
#include "gpuos/error.h"
#include "session/own_headers.h"
#include "session/workspace.h"

namespace gpuos::session {
namespace {

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
