#include "session/device/definitions.h"

#include "base/concat.h"
#include "jit/symbols.h"

namespace gpuos::session {

std::string Definition::title() const {
  const char* kind = is_variable() ? "variable"
                     : is_kernel() ? "kernel"
                                   : "function";
  return concat(kind, " ", qualified_name(), " (", cell, ")");
}

void Definitions::set(Table& table, const std::string& key,
                      DefinitionPtr value) {
  if (value == nullptr) {
    table.erase(key);
  } else {
    table[key] = std::move(value);
  }
}

DefinitionPtr Definitions::find(const Table& table, const std::string& key) {
  const auto found = table.find(key);
  return found == table.end() ? nullptr : found->second;
}

void Definitions::publish(Table& table, const std::string& key,
                          const DefinitionPtr& value, Journal& journal) {
  journal.record(
      [&table, key, old = find(table, key)] { set(table, key, old); });
  set(table, key, value);
}

void Definitions::put(const DefinitionPtr& definition, Journal& journal) {
  publish(by_symbol_, definition->symbol, definition, journal);
  for (const std::string& symbol : definition->more_symbols)
    publish(by_symbol_, symbol, definition, journal);
  publish(by_name_, definition->qualified_name(), definition, journal);
}

void Definitions::erase(const Item& item, Journal& journal) {
  const DefinitionPtr old = find_name(qualifier_of(item.scopes) + item.name);
  if (old == nullptr || old->item.key != item.key) return;
  publish(by_symbol_, old->symbol, nullptr, journal);
  for (const std::string& symbol : old->more_symbols)
    publish(by_symbol_, symbol, nullptr, journal);
  publish(by_name_, old->qualified_name(), nullptr, journal);
}

void Definitions::refresh(const DefinitionPtr& definition) {
  const DefinitionPtr old = find_symbol(definition->symbol);
  set(by_symbol_, definition->symbol, definition);
  for (const std::string& symbol : definition->more_symbols)
    set(by_symbol_, symbol, definition);
  if (find(by_name_, definition->qualified_name()) == old)
    set(by_name_, definition->qualified_name(), definition);
}

DefinitionPtr Definitions::find_symbol(const std::string& symbol) const {
  return find(by_symbol_, symbol);
}

DefinitionPtr Definitions::find_name(std::string_view name) const {
  if (const DefinitionPtr found = find(by_name_, std::string(name)))
    return found;
  if (name.find('(') == name.npos) return nullptr;
  for (const auto& [symbol, definition] : by_symbol_) {
    if (jit::demangled(symbol) == name) return definition;
  }
  return nullptr;
}

DefinitionPtr Definitions::find_key(const std::string& key) const {
  for (const auto& [symbol, definition] : by_symbol_) {
    if (definition->item.key == key) return definition;
  }
  return nullptr;
}

std::vector<DefinitionPtr> Definitions::all() const {
  std::vector<DefinitionPtr> found;
  for (const auto& [symbol, definition] : by_symbol_) {
    if (symbol == definition->symbol) found.push_back(definition);
  }
  return found;
}

}  // namespace gpuos::session
