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
#include "session/cells/items.h"
#include "session/device/header.h"
#include "session/device/journal.h"
#include "session/host/host_objects.h"

namespace gpuos::session {

/// Holds a variable of host code.
struct HostVariable {
  std::string cell;
  std::string type;  // type as C++ spells it
  void* address = nullptr;
  std::size_t bytes = 0;
};

/// Holds the newest version of a function, a type or a variable of host code.
struct HostDefinition {
  Item item;
  std::string cell;
  std::vector<Dependency> dependencies{};
  bool is_compiled = false;  // otherwise compiled with the first unit that
                             // needs it
  bool is_declared_only = false;
};

/// Holds the host code of one cell.
struct HostCell {
  std::string cell;
  std::vector<Item> items;  // in order; Launch and Call for statements
};

/// Holds the compiled host code of one cell.
struct HostUnit {
  std::string name;  // "gpuos_1_3"
  std::string cell;
  host::HostImage image;
  std::map<int, Item> variables;       // by index in the cell
  std::set<int> declared{};            // variables whose type earlier users
                                       // know
  std::vector<Item> functions;         // functions in the image
  std::vector<std::string> defined;    // keys of definitions in the image
  std::map<int, HostVariable> made{};  // the ones of `variables` that were made
};

/// Describes a name of Python that is bound for host code.
struct BoundName {
  std::string declaration;  // "static const int& n = ..."
};

/// Holds the host code of a session: the declarations of earlier cells for
/// later ones. Compiles cells, but does not run them.
class HostProgram {
 public:
  /// Returns nothing if the name is not bound.
  using FindBound = std::function<std::optional<BoundName>(const std::string&)>;

  /// Passes `flags` to the C++ compiler.
  HostProgram(std::vector<std::string> include_dirs,
              std::vector<std::string> flags, FindBound find_bound);

  void add_include_dir(const std::string& dir) {
    compiler_.add_include_dir(dir);
  }

  /// Keeps a text that messages may refer to.
  void keep_text(const std::string& name, const std::string& text) {
    texts_[name] = text;
  }
  const std::string& text_of(const std::string& name) const {
    return texts_.at(name);
  }
  /// Notes an item that needs no compiler yet.
  void note(const Item& item, const std::string& cell, Journal& journal);
  /// Compiles a cell with everything that it reaches and that has changed.
  /// Throws: CompileError, BackendUnavailable without a compiler.
  HostUnit compile(const HostCell& cell, const std::string& text,
                   Journal& journal);
  /// Returns the part of a conditional that the C++ compiler takes (see
  /// Choose).
  std::size_t choose(const Conditional& conditional, const CellText& cell);
  /// Checks the code that the cell runs. A name alone may be a member's, so an
  /// undefined name must also be in `missing` (see HostObjects).
  /// Throws: CompileError if the code reaches a name that is only declared.
  void refuse_undefined(const HostCell& cell,
                        const std::set<std::string>& missing) const;
  /// Ends a unit that has run completely or in part.
  void finish(const HostUnit& unit);
  /// Makes the functions of a unit replace older ones, before the unit runs.
  void publish(const HostUnit& unit, const HostLibrary& library,
               HostObjects& objects, Journal& journal);
  /// Takes a variable of a unit that has been made.
  void take_made(HostUnit& unit, int index, HostVariable made,
                 const HostLibrary& library, HostObjects& objects,
                 Journal& journal);

  /// Returns null if there is none.
  const HostVariable* find_variable(std::string_view name) const;
  std::vector<std::string> variable_names() const;
  NameKind kind_of(std::string_view name) const;
  /// Asks the C++ compiler if names are types. Names without an answer are
  /// missing in the result.
  std::map<std::string, NameKind> ask(const std::set<std::string>& names,
                                      const std::vector<Item>& items,
                                      const CellText& cell);
  /// Returns a "#define" for each macro of a text and the cells before it.
  std::string macros_of(const CellText& cell);
  bool knows(const std::string& name) const;
  bool has_includes() const;
  /// Returns whether the name is a variable or a function of host code alone.
  bool has_own(const std::string& name) const;
  const HostDefinition* find(const std::string& key) const;
  const Header& header() const { return header_; }
  std::uint64_t compiled() const { return compiled_; }

 private:
  friend class HostUnitWriter;

  HostUnit begin_unit(const std::string& cell);
  HostUnit compile_once(const HostCell& cell, Journal& journal);
  void take_usual(Journal& journal);
  // Returns using-declarations of included functions with this name.
  std::string others_of(const std::string& name, const std::string& includes);
  bool drop_includes(Journal& journal);
  std::string own_namespace_in(const std::vector<std::string>& scopes,
                               const HostUnit& unit);
  // Returns the type that a variable hides, as in "struct s s;". Returns null
  // if there is none. Both are in one namespace, and the variable keeps a
  // symbol of its own.
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
  std::map<std::string, std::string> others_;  // answers of others_of()
  bool has_usual_ = false;                     // units have the names of
                                               // usual_text()
  std::size_t units_ = 0;
  std::uint64_t compiled_ = 0;
};

}  // namespace gpuos::session
