#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "session/tokens.h"

namespace gpuos::session {

enum class ItemKind : std::uint8_t {
  Directive,    // a preprocessor line, or #if to #endif
  Header,       // goes to later cells as it is: types, templates, inline
  Declaration,  // of a function that may be defined later, or never
  Function,     // a __device__ function with external linkage
  Kernel,       // a __global__ function that is no template
  Variable,     // a __device__ or __constant__ variable
  Launch,       // k<<<grid, block>>>(a, b);
  Launches,     // void f() { k<<<...>>>(); ... }
  Call          // f();
};

/// One top-level piece of a cell.
struct Item {
  ItemKind kind = ItemKind::Header;
  std::string text{};
  int line = 1;
  int column = 1;
  /// What the text stands in: "namespace a", "extern \"C\"".
  std::vector<std::string> scopes{};

  std::string name{};  // of a function or variable: "norm", "Vec::norm"
  /// Identifiers by which later cells can want the header text.
  std::set<std::string> names{};
  /// Plain names that its scope has from then on.
  std::set<std::string> declares{};
  /// Of a using-directive or an alias: the namespace, as it is written.
  std::string opens{};
  /// Two items with one key are two versions of one thing.
  std::string key{};
  /// Header text for later cells; for a definition made from it.
  std::string header{};
  /// Stands before it on a line of its own.
  std::string prefix{};
  /// Of a function: what its callers depend on beside the key. Empty: on all
  /// of `header`.
  std::string result{};
  /// Of a function: its parameters as written, if they have defaults.
  std::string defaults{};
  /// Needed by whoever uses one of the header's own identifiers.
  bool is_operator = false;
  /// Needed by everybody: directives and using-directives.
  bool is_always = false;

  std::size_t name_at = 0;   // of a variable: the name's offset in `text`
  bool is_constant = false;  // a __constant__ variable
  bool is_array = false;
  std::vector<Item> statements{};  // of Launches
};

/// Cut a cell into its top-level items, in order.
/// Throws: CompileError where a cell has what a session cannot take.
std::vector<Item> split_cell(const CellText& cell);

/// "a::b::" for namespaces a and b.
std::string qualifier_of(const std::vector<std::string>& scopes);

/// "a" and "a::b" for "a::b::".
std::vector<std::string> namespaces_of(const std::string& qualifier);

}  // namespace gpuos::session
