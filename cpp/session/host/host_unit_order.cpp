// This file decides in which order a unit has the definitions of other cells.
// It decides which definitions may come and which must wait. It also decides
// the namespace of a type that is declared first.
#include <dlfcn.h>

#include <algorithm>

#include "base/concat.h"
#include "session/cells/usual_names.h"
#include "session/host/host_text.h"
#include "session/host/host_unit_writer.h"

namespace gpuos::session {
namespace {

// Returns whether the process has the function: "extern "C" int puts(const
// char*);". A later cell defines a function that the process does not have.
bool is_external(const Item& item) {
  const bool in_scope = std::ranges::any_of(
      item.scopes,
      [](const std::string& scope) { return scope.starts_with("extern"); });
  return item.kind == ItemKind::HostDeclaration &&
         (in_scope || item.text.starts_with("extern \"") ||
          item.header.starts_with("extern \"")) &&
         ::dlsym(RTLD_DEFAULT, item.name.c_str()) != nullptr;
}

// Returns whether a function like "V sqrt(V v) { return {sqrt(v.x)}; }" may
// call another one of its name.
bool calls_its_name(const std::string& text, const std::string& name) {
  const CellText cell{"", text};
  const std::vector<Token> tokens = tokenize(cell);
  int found = 0;
  for (std::size_t i = 1; i + 1 < tokens.size(); ++i) {
    const Token& before = tokens[i - 1];
    const bool is_of_other =
        before.is("::") || before.is(".") || before.is("->");
    if (tokens[i].is(name) && tokens[i + 1].is("(") && !is_of_other) ++found;
  }
  return found > 1;
}

}  // namespace

// Writes an item. A function's own namespace would hide other functions of its
// name, both the session's and included ones.
void HostUnitWriter::place(const std::string& text, Item item,
                           const std::string& cell, std::uint64_t written) {
  if (is_function(item) && !item.is_member && !item.scopes.empty() &&
      is_own_namespace(item.scopes.back())) {
    const std::string qualifier = qualifier_of(item.scopes);
    const std::string name = concat("::", qualifier, item.name);
    std::set<std::string>& namespaces = overloads_[name];
    namespaces.insert(item.scopes.back());
    if (namespaces.size() > 1)
      item.prefix.insert(0, concat("using ", name, "; "));
    if (qualifier.empty() && calls_its_name(text, item.name)) {
      if (is_usual_name(item.name) && !program_.has_usual_)
        program_.take_usual(journal_);
      item.prefix.insert(0, program_.others_of(item.name, includes()));
    }
  }
  const auto [before, after] = program_.header_.macros_of(text, written);
  text_ += before + placed(text, item, cell) + after;
}

// Returns whether a declaration is the library's own. It is not if the cell
// defines the function.
bool HostUnitWriter::is_library_own(const Item& declared) const {
  const auto own = own_.find(declared.key);
  return is_external(declared) &&
         (own == own_.end() || own->second->kind == ItemKind::HostDeclaration);
}

// Returns a declaration for this and later units.
Item HostUnitWriter::as_declared(const Item& given) const {
  Item item = in_own_namespace(given);
  if (is_library_own(given)) return item;
  drop_linkage(item);
  if (is_function(item)) {
    make_external(item);
    item.header = item.text;
  }
  return item;
}

// Returns the function as a friend of its class. A friend is in the class's
// namespace and changes with the class.
Item HostUnitWriter::befriended(Item item,
                                const std::vector<Item>& cell) const {
  if (!is_function(item) || item.is_member) return item;
  const auto is_friend_of = [&](const Item& type) {
    if (!type.befriends.contains(item.key)) return false;
    item.friend_of = type.key;
    item.is_member = true;
    item.names.insert(type.name);
    return true;
  };
  if (std::ranges::any_of(cell, is_friend_of)) return item;
  for (const EntryPtr& entry : program_.header_.find_befriending(item.key))
    if (is_friend_of(entry->item)) return item;
  return item;
}

// Returns the entry whose namespace the type takes. Two classes with one friend
// share a namespace, where the friend is declared. The first takes the
// namespace of the other, if that is declared before it.
EntryPtr HostUnitWriter::fellow_of(const Item& type) const {
  const Header& header = program_.header_;
  if (type.befriends.empty() || header.find(type.key) != nullptr)
    return nullptr;
  const std::string qualifier = qualifier_of(type.scopes);
  for (const std::string& key : type.befriends) {
    for (const EntryPtr& entry : header.find_befriending(key)) return entry;
    for (const std::string& name : identifiers_of(key.substr(2))) {
      const EntryPtr other = header.find(concat("forward:", qualifier, name));
      if (name != type.name && other != nullptr &&
          header.find(concat("t:", qualifier, name)) == nullptr)
        return other;
    }
  }
  return nullptr;
}

// Returns whether the item belongs to a type A that is being written. Examples
// are "struct A::B {};" and "T A<T>::f() {}". Types that another type needs are
// written meanwhile, and each may mention an f.
bool HostUnitWriter::is_member_of_open(const Item& item) const {
  if (!item.is_member ||
      !(item.key.starts_with("t:") || item.key.starts_with("f:")))
    return false;
  return std::ranges::any_of(open_, [&](const Item* type) {
    return type->key.starts_with("t:") && item.key != type->key &&
           item.names.contains(type->name);
  });
}

// Returns whether the entry comes after the item that is being written.
bool HostUnitWriter::comes_later(const Entry& entry) const {
  if (is_member_of_open(entry.item)) return true;
  if (written_now_ == nullptr) return false;
  const EntryPtr old = program_.header_.find(written_now_->key);
  return old != nullptr &&
         program_.header_.comes_later(entry, *written_now_, old->first);
}

// Writes a declaration of a type. The declaration adds nothing after the
// definition.
void HostUnitWriter::need_forward(const Entry& entry,
                                  const std::string& definition) {
  const bool is_new = written_.insert(entry.item.key).second;
  done_.insert(entry.item.key);
  if (!is_new || done_.contains(definition)) return;
  Item item = entry.item;
  item.scopes = scopes_of_definition(item, definition);
  place(item.header, item, entry.cell);
}

// Returns the scopes of the type that `forward` declares. It is in a namespace
// of the unit if the type, or one that it reaches, is compiled again.
std::vector<std::string> HostUnitWriter::scopes_of_definition(
    const Item& forward, const std::string& definition) const {
  const EntryPtr defined = program_.header_.find(definition);
  if (defined == nullptr) return forward.scopes;
  const auto is_compiled = [&](const std::string& key) {
    const HostDefinition* const known = program_.find(key);
    return known != nullptr && known->is_compiled;
  };
  const auto is_changed = [&](const Entry* entry) {
    const std::string& key = entry->item.key;
    if (entry->item.kind != ItemKind::Header) return false;
    if (is_compiled(key) && is_stale(key)) return true;
    if (!is_own(key)) return false;
    const Item& own = *own_.at(key);
    return (is_compiled(key) && has_changed_member(own)) ||
           !program_.header_.has_same(in_own_namespace(own));
  };
  // The type may reach a name that is newer than its compilation, such as the
  // f of another class. It is not compiled again for that.
  const HostDefinition* const known = program_.find(definition);
  const auto depends_on = [&](const Entry* entry) {
    return std::ranges::find(known->dependencies, entry->item.key,
                             &Dependency::key) != known->dependencies.end();
  };
  const bool is_new =
      is_changed(defined.get()) ||
      (is_compiled(definition) &&
       std::ranges::any_of(program_.header_.closure(*defined),
                           [&](const Entry* entry) {
                             return depends_on(entry) && is_changed(entry);
                           }));
  return is_new ? in_own_namespace(forward).scopes : defined->item.scopes;
}

// Returns whether the entry is "using enum E;" while E is being written. The
// next item then needs it again.
bool HostUnitWriter::is_unfinished(const Entry& entry) const {
  if (!entry.item.is_always) return false;
  return std::ranges::any_of(entry.mentions, [&](const std::string& name) {
    return std::ranges::any_of(
        program_.header_.find_named(name), [&](const EntryPtr& mentioned) {
          const std::string& key = mentioned->item.key;
          return written_.contains(key) && !done_.contains(key);
        });
  });
}

// Returns whether the item is "using n::f;" or "auto f() { return n::f(); }"
// before the cell's own n::f.
bool HostUnitWriter::is_too_early(const Item& item) const {
  if (item.name.empty() ||
      item.text.find("::" + item.name) == std::string::npos)
    return false;
  return std::ranges::any_of(own_, [&](const auto& entry) {
    const auto& [key, own] = entry;
    return own->name == item.name && !done_.contains(key) &&
           qualifier_of(own->scopes) != qualifier_of(item.scopes);
  });
}

// Writes other items of the item's name, such as "a::P" of "struct P : a::P
// {};".
void HostUnitWriter::need_namesakes(const Item& given) {
  if (given.text.find("::" + given.name) == std::string::npos) return;
  for (const EntryPtr& entry : program_.header_.find_named(given.name)) {
    if (!entry->item.declares.contains(given.name) ||
        qualifier_of(entry->item.scopes) == qualifier_of(given.scopes))
      continue;
    Names others = entry->mentions;
    others.erase(given.name);
    need(others);
    need_entry(entry);
  }
}

}  // namespace gpuos::session
