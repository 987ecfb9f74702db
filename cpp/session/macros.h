#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "session/items.h"
#include "session/tokens.h"

namespace gpuos::session {

/// A macro as its #define says it.
struct Macro {
  bool takes_arguments = false;
  std::vector<std::string> parameters{};  // "..." last
  std::string body{};

  bool operator==(const Macro&) const = default;
};

/// Names that a cell may mean as macros of a header.
struct MacroDoubts {
  std::set<std::string> urgent{};  // "HD" of "HD float f(float x)"
  std::set<std::string> possible{};
};

/// The macros that the cells of a session define. Cells are read by their
/// words, so that what stands for such a word is replaced first.
class Macros {
 public:
  /// Takes "#define N 4" and "#undef N"; another line changes nothing. Of a
  /// line within #if it is not known whether it counts.
  void take(std::string_view line, bool is_conditional = false);
  /// Takes those of `names` that the lines of a preprocessor define.
  /// False if there are none.
  bool take_some(const std::string& lines, const std::set<std::string>& names);
  /// Null if there is none.
  const Macro* find(std::string_view name) const;
  /// Returns what the name of a macro is in an expression.
  NameKind kind_of(std::string_view name, const KindOf& of_others) const;
  /// Takes the definitions of a cell, and returns its text with those macros
  /// replaced that begin, mark or launch something. Lines keep their numbers.
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
