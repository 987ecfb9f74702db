#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "host/cell_compiler.h"
#include "session/header.h"
#include "session/host_objects.h"
#include "session/items.h"
#include "session/journal.h"

namespace gpuos::session {

/// A variable of host code.
struct HostVariable {
  std::string cell;
  std::string type;  // as C++ spells it
  void* address = nullptr;
  std::size_t bytes = 0;
};

/// A function, a type or a variable of host code, in its newest version.
struct HostDefinition {
  Item item;
  std::string cell;
  std::vector<Dependency> dependencies{};
  bool is_compiled = false;  // else with the first unit that wants it
  bool is_declared_only = false;
};

/// The host code of one cell.
struct HostCell {
  std::string cell;
  std::vector<Item> items;  // in order; Launch and Call for statements
};

/// The compiled host code of one cell.
struct HostUnit {
  std::string name;  // "gpuos_1_3"
  std::string cell;
  host::HostImage image;
  std::map<int, Item> variables;       // by index in the cell
  std::set<int> declared{};            // of these: of the type that users know
  std::vector<Item> functions;         // that are in the image
  std::vector<std::string> defined;    // keys in the image
  std::map<int, HostVariable> made{};  // of `variables`
};

/// A name of Python that is bound for host code.
struct BoundName {
  std::string declaration;  // "static const int& n = ..."
};

/// The host code of a session: what later cells see of the earlier ones, and
/// how a cell is compiled. Nothing here runs it.
class HostProgram {
 public:
  /// Empty: nothing of that name is bound.
  using FindBound = std::function<std::optional<BoundName>(const std::string&)>;

  /// `flags`: for the C++ compiler.
  HostProgram(std::vector<std::string> include_dirs,
              std::vector<std::string> flags, FindBound find_bound);

  void add_include_dir(const std::string& dir) {
    compiler_.add_include_dir(dir);
  }

  /// A text that messages may be about.
  void keep_text(const std::string& name, const std::string& text) {
    texts_[name] = text;
  }
  const std::string& text_of(const std::string& name) const {
    return texts_.at(name);
  }
  /// Notes an item that needs no compiler yet.
  void note(const Item& item, const std::string& cell, Journal& journal);
  /// Compile a cell with all that it reaches and that has changed.
  /// Throws: CompileError, BackendUnavailable without a compiler.
  HostUnit compile(const HostCell& cell, const std::string& text,
                   Journal& journal);
  /// Which part of a conditional the C++ compiler takes; see Choose.
  std::size_t choose(const Conditional& conditional, const CellText& cell);
  /// Throws: CompileError if what runs reaches something that is declared only
  /// and is `missing`, see HostObjects: a name alone may be a member's.
  void refuse_undefined(const HostCell& cell,
                        const std::set<std::string>& missing) const;
  /// A unit has run, or as much of it as it could.
  void finish(const HostUnit& unit);
  /// Before the unit runs: its functions take the place of older ones.
  void publish(const HostUnit& unit, const HostLibrary& library,
               HostObjects& objects, Journal& journal);
  /// A variable of a unit has been made.
  void take_made(HostUnit& unit, int index, HostVariable made,
                 const HostLibrary& library, HostObjects& objects,
                 Journal& journal);

  /// Null if there is none.
  const HostVariable* find_variable(std::string_view name) const;
  std::vector<std::string> variable_names() const;
  NameKind kind_of(std::string_view name) const;
  /// Asks the C++ compiler whether names are types. Names without an answer are
  /// missing in the result.
  std::map<std::string, NameKind> ask(const std::set<std::string>& names,
                                      const std::vector<Item>& items,
                                      const CellText& cell);
  /// A "#define" for each macro that a text and the cells before it have.
  std::string macros_of(const CellText& cell);
  /// Whether host code has something of that name.
  bool knows(const std::string& name) const;
  bool has_includes() const;
  /// A name of host code alone: a variable or a function.
  bool has_own(const std::string& name) const;
  const HostDefinition* find(const std::string& key) const;
  const Header& header() const { return header_; }
  std::uint64_t compiled() const { return compiled_; }

 private:
  friend class HostUnitWriter;

  HostUnit begin_unit(const std::string& cell);
  HostUnit compile_once(const HostCell& cell, Journal& journal);
  void take_usual(Journal& journal);
  // Using-declarations of what is included under the name of a function.
  std::string others_of(const std::string& name, const std::string& includes);
  bool drop_includes(Journal& journal);
  std::string own_namespace_in(const std::vector<std::string>& scopes,
                               const HostUnit& unit);
  // The type that a variable hides, as in "struct s s;"; null if there is none.
  // They stand in one namespace, and the variable keeps a symbol of its own.
  EntryPtr hide_type(Item& variable, const HostUnit& unit);
  // Returns a type with "struct" before names that variables hide.
  std::string elaborated(const std::string& type) const;
  void define(const std::string& key, HostDefinition definition,
              Journal& journal);
  std::vector<Dependency> dependencies_of(const Item& item,
                                          const HostUnit& unit) const;

  const int session_;
  FindBound find_bound_;
  host::CellCompiler compiler_;
  Header header_;
  std::map<std::string, HostDefinition> definitions_;           // by key
  std::map<std::string, HostVariable, std::less<>> variables_;  // by name
  std::map<std::string, std::set<std::string>> members_;  // keys, by class
  std::map<std::string, std::string> texts_;              // by cell
  std::map<std::string, std::size_t> scopes_;  // numbers of namespaces
  std::map<std::string, std::string> others_;  // of others_of()
  bool has_usual_ = false;                     // names of usual_text()
  std::size_t units_ = 0;
  std::uint64_t compiled_ = 0;
};

}  // namespace gpuos::session
