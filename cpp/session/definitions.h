#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "session/definition.h"
#include "session/journal.h"

namespace gpuos::session {

/// The newest definition of each symbol.
class Definitions {
 public:
  void put(const DefinitionPtr& definition, Journal& journal);
  /// `item` is text for all who use it from now on: what was compiled of an
  /// earlier version goes.
  void erase(const Item& item, Journal& journal);
  /// Replaces a definition by itself, compiled again.
  void refresh(const DefinitionPtr& definition);

  /// Null if there is none.
  DefinitionPtr find_symbol(const std::string& symbol) const;
  /// The newest of a qualified name, or of "k(int)"; null if there is none.
  DefinitionPtr find_name(std::string_view name) const;
  /// The newest of an item's key; null if there is none.
  DefinitionPtr find_key(const std::string& key) const;
  /// In no order.
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
