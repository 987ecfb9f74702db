#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "session/cells/items.h"
#include "session/cells/tokens.h"

namespace gpuos::session {

/// Holds a macro as its #define says it.
struct Macro {
  bool takes_arguments = false;
  std::vector<std::string> parameters{};  // "..." last
  std::string body{};

  bool operator==(const Macro&) const = default;
};

/// Holds names in a cell that may be macros of a header.
struct MacroDoubts {
  std::set<std::string> urgent{};  // "HD" of "HD float f(float x)"
  std::set<std::string> possible{};
};

/// Holds the macros that the cells of a session define. The session reads cells
/// by their words, so it first replaces macros that stand for such a word.
class Macros {
 public:
  /// Takes "#define N 4" and "#undef N", and ignores any other line. For a line
  /// within #if it is unknown if the line counts.
  void take(std::string_view line, bool is_conditional = false);
  /// Takes those of `names` that the lines of a preprocessor define. Returns
  /// false if there are none.
  bool take_some(const std::string& lines, const std::set<std::string>& names);
  /// Returns null if there is none.
  const Macro* find(std::string_view name) const;
  NameKind kind_of(std::string_view name, const KindOf& of_others) const;
  /// Takes the definitions of a cell. Returns its text after replacing macros
  /// that begin, mark or launch something. Lines keep their numbers.
  std::string expand(const CellText& cell, MacroDoubts& doubts);

 private:
  using Active = std::set<std::string, std::less<>>;

  bool is_structural(const Macro& macro, int depth = 0) const;
  bool pastes(const Macro& macro, int depth = 0) const;
  std::optional<std::string> replacement(
      const Macro& macro, const std::vector<std::string>& given) const;
  std::string expand(const CellText& cell, Active& active, MacroDoubts* doubts);

  std::map<std::string, Macro, std::less<>> macros_;
};

}  // namespace gpuos::session
