#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "session/definition.h"
#include "session/journal.h"

namespace gpuos::session {

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
