#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "session/cells/tokens.h"

namespace gpuos::session {

enum class ItemKind : std::uint8_t {
  Directive,        // a preprocessor line, or #if to #endif
  Header,           // goes to later cells as it is: types, templates, inline
  Declaration,      // a function that may be defined later, or never
  Function,         // a __device__ function with external linkage
  Kernel,           // a __global__ function that is no template
  Variable,         // a __device__ or __constant__ variable
  Launch,           // k<<<grid, block>>>(a, b);
  Launches,         // void f() { k<<<...>>>(); ... }
  Call,             // f();
  HostDeclaration,  // int f(int); extern int n;
  HostFunction,     // int f(int x) { return x; }
  HostVariable,     // int n = 3;
  HostStatement     // for (...) ...;
};

/// Holds one top-level piece of a cell.
struct Item {
  ItemKind kind = ItemKind::Header;
  std::string text{};
  int line = 1;
  int column = 1;
  /// Names the included file that has the item. It is empty for the cell
  /// itself.
  std::string file{};
  /// Holds the scopes around the text: "namespace a", "extern \"C\"".
  std::vector<std::string> scopes{};

  std::string name{};  // name of a function or variable: "norm", "Vec::norm"
  /// Holds identifiers through which later cells can need the header text.
  std::set<std::string> names{};
  /// Holds plain names that the item's scope has from then on.
  std::set<std::string> declares{};
  /// Holds the namespace of a using-directive or an alias, as it is written.
  std::string opens{};
  /// Identifies the item. Two items with one key are two versions of it.
  std::string key{};
  /// Holds header text for later cells. For a definition it is made from the
  /// text.
  std::string header{};
  /// Comes before the item on a line of its own.
  std::string prefix{};
  /// Holds the part of a function that its callers depend on, in addition to
  /// the key. If it is empty, they depend on all of `header`.
  std::string result{};
  /// Holds the parameters of a function as written, if they have defaults.
  std::string defaults{};
  /// True if all code that uses one of the header's own identifiers needs the
  /// item.
  bool is_operator = false;
  /// True if all units need the item: directives and using-directives.
  bool is_always = false;

  std::size_t name_at = 0;   // offset of a variable's name in `text`
  bool is_constant = false;  // a __constant__ variable
  bool is_array = false;
  std::vector<Item> statements{};  // statements of Launches

  /// True for a statement that is an expression with its semicolon.
  bool is_expression = false;

  /// True if host code may use the item too, because no word of CUDA keeps it
  /// to the device.
  bool is_shared = false;
  /// True for a type or function that belongs to another one, as "P::f" to P
  /// and "S<int>" to S.
  bool is_member = false;
  /// Holds keys of functions that a class declares as friends.
  std::set<std::string> befriends{};
  /// Holds the key of the class that befriends this function. The function is
  /// in the namespace of the class.
  std::string friend_of{};

  /// Returns whether the item is only host code.
  bool is_host() const {
    return kind == ItemKind::HostDeclaration ||
           kind == ItemKind::HostFunction || kind == ItemKind::HostVariable ||
           kind == ItemKind::HostStatement;
  }
};

/// Tells if a name is a value, such as a variable or a function, or a type.
enum class NameKind : std::uint8_t { Unknown, Value, Type };

/// Returns the kind of a name, "n" or "a::n". With `is_needed` it may ask the
/// compiler, because nothing else decides how to read the code.
using KindOf = std::function<NameKind(std::string_view name, bool is_needed)>;

/// Holds the parts of a session that a cell needs.
struct Known {
  KindOf kind_of = nullptr;
  /// Returns whether earlier cells have opened a namespace, "a::b".
  std::function<bool(std::string_view name)> is_namespace = nullptr;
  /// Asks the C++ compiler for unknown names. `items` is the part of the cell
  /// that has been read. Returns false if the compiler cannot say more.
  std::function<bool(const std::set<std::string>& names,
                     const std::vector<Item>& items)>
      ask = nullptr;
  /// Holds the values of "#pragma pack", the newest last. The cell changes it.
  std::vector<std::string>* packs = nullptr;
  /// Returns the text of `#include "a.h"` in a file, if the header is one of
  /// the user's own. An empty text means that the session has it.
  std::function<std::optional<CellText>(std::string_view line,
                                        const std::string& from)>
      find_header = nullptr;
};

/// Returns "struct", "class", "union" or "enum" of a type that a variable of
/// its name hides. Returns an empty text for another item.
std::string class_word_of(const Item& item);

/// Returns whether the item declares or defines a function, or a template of
/// one.
bool is_function(const Item& item);

NameKind kind_in(const Item& item, const std::string& name);

/// Holds the lines from #if to #endif around definitions or statements.
struct Conditional {
  std::vector<Item> before;  // directives of the cell so far
  std::vector<Item> lines;   // "#if A", "#elif B", "#else"
  bool has_host_code = false;
};

/// Returns the part of the lines that is compiled, or their number for none.
/// Throws: CompileError.
using Choose = std::function<std::size_t(const Conditional&)>;

/// Cuts a cell into its top-level items, in order.
/// Throws: CompileError where a cell has code that a session cannot take.
std::vector<Item> split_cell(const CellText& cell, const Choose& choose,
                             const Known& known = {});

/// Returns the namespace that a definition of host code has for itself.
std::string own_namespace(const std::string& name);
bool is_own_namespace(std::string_view scope);

/// Returns "a::b::" for namespaces a and b.
std::string qualifier_of(const std::vector<std::string>& scopes);

/// Returns "a" and "a::b" for "a::b::".
std::vector<std::string> namespaces_of(const std::string& qualifier);

}  // namespace gpuos::session
