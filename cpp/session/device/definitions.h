#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "jit/unit_compiler.h"
#include "session/device/header.h"
#include "session/device/journal.h"

namespace gpuos::session {

/// Holds one function, kernel or variable as a relocatable object. It never
/// changes after it is made.
struct Definition {
  Item item;
  std::string cell;
  std::string symbol;                       // mangled
  std::vector<std::string> more_symbols{};  // a constructor has two
  jit::Object object;
  std::vector<std::string> undefined{};  // symbols that it wants
  std::vector<Dependency> dependencies{};

  // This is the pointer of a variable. `object` has the variable's storage
  // under another symbol. The pointer has the variable's name and is linked
  // with its users.
  jit::Object pointer{};
  std::string storage_symbol{};
  std::size_t bytes = 0;

  bool is_variable() const { return item.kind == ItemKind::Variable; }
  bool is_kernel() const { return item.kind == ItemKind::Kernel; }
  /// Returns "kernel foo (cell 3)", for messages.
  std::string title() const;
  std::string qualified_name() const {
    return qualifier_of(item.scopes) + item.name;
  }
};
using DefinitionPtr = std::shared_ptr<const Definition>;

/// Holds the newest definition of each symbol.
class Definitions {
 public:
  void put(const DefinitionPtr& definition, Journal& journal);
  /// Removes what was compiled of an earlier version, because `item` is text
  /// for all its users from now on.
  void erase(const Item& item, Journal& journal);
  /// Replaces a definition with itself, compiled again.
  void refresh(const DefinitionPtr& definition);

  /// Returns null if there is none.
  DefinitionPtr find_symbol(const std::string& symbol) const;
  /// Returns the newest of a qualified name, or of "k(int)". Returns null if
  /// there is none.
  DefinitionPtr find_name(std::string_view name) const;
  /// Returns the newest of an item's key, or null if there is none.
  DefinitionPtr find_key(const std::string& key) const;
  /// Returns all definitions in no order.
  std::vector<DefinitionPtr> all() const;

 private:
  using Table = std::unordered_map<std::string, DefinitionPtr>;

  static void publish(Table& table, const std::string& key,
                      const DefinitionPtr& value, Journal& journal);
  static void set(Table& table, const std::string& key, DefinitionPtr value);
  static DefinitionPtr find(const Table& table, const std::string& key);

  Table by_symbol_;  // a constructor by each of its symbols
  Table by_name_;
};

}  // namespace gpuos::session
