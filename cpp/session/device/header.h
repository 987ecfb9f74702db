#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "session/cells/items.h"
#include "session/device/journal.h"

namespace gpuos::session {

/// Holds one piece of the session's header.
struct Entry {
  Item item;
  std::string cell;
  std::set<std::string> mentions;
  std::string identity;       // equal: callers see no difference
  std::uint64_t version = 0;  // also its place, unless something older needs it
  std::uint64_t first = 0;    // the version of the first with this key
  std::uint64_t written = 0;  // it uses the macros of that version
};
using EntryPtr = std::shared_ptr<const Entry>;

/// Names a version of a declaration with which an object was compiled.
struct Dependency {
  std::string key;
  std::uint64_t version = 0;
};

/// Holds the part of the header that one unit needs.
struct Selection {
  std::string text;
  std::vector<EntryPtr> entries;
};

/// Says when a version is new, so that callers are compiled again. It is new if
/// its text has changed, always, or never.
enum class Again : std::uint8_t { IfChanged, Always, Never };

/// Holds the declarations of earlier cells for later cells. A unit gets only
/// the declarations that its identifiers reach, so the cost of a cell does not
/// grow.
class Header {
 public:
  /// Adds the item's header text or replaces the version before. A version with
  /// equal text is kept. Returns null if there is nothing to add. The text uses
  /// the macros of version `written`, or the current macros if it is 0.
  EntryPtr put(const Item& item, const std::string& cell, Journal& journal,
               Again again = Again::IfChanged, std::uint64_t written = 0);
  /// Returns whether put() would keep the existing version.
  bool has_same(const Item& item) const;
  /// Returns whether a type P must come after the type Q that points to it. An
  /// example is "struct P; struct Q { P* p; }; struct P { Q q; };". There
  /// `item`, whose first version is `first`, only points to the type that
  /// `needed` defines. The order does not depend on which of the two is defined
  /// again.
  bool comes_later(const Entry& needed, const Item& item,
                   std::uint64_t first) const;
  /// Returns the entry and all that it mentions, directly or by others.
  std::set<const Entry*> closure(const Entry& entry) const;
  void erase(const std::string& key, Journal& journal);
  /// Keeps a place for the key, before all that is put from now on.
  void keep_place(const std::string& key) { places_[key] = ++versions_; }
  /// Selects the entries for a unit that mentions `roots`. Omits the entry of
  /// `own` if that was made from the definition that is compiled.
  Selection select(const std::set<std::string>& roots, const Item* own) const;
  bool is_current(const Dependency& dependency) const;
  /// Returns null if there is none.
  EntryPtr find(const std::string& key) const;
  std::vector<EntryPtr> find_named(const std::string& name) const;
  /// Returns the entries that declare a qualified name.
  std::vector<EntryPtr> find_declared(const std::string& qualified) const;
  /// Returns the classes that have a function of this key as a friend.
  std::vector<EntryPtr> find_befriending(const std::string& key) const;
  /// Returns an entry in the namespace, or null if there is none.
  EntryPtr find_within(const std::string& qualified) const;
  /// Returns the kind of a name, "n" or "a::n". Returns Unknown if its
  /// declarations differ.
  NameKind kind_of(const std::string& name) const;
  /// Returns lines for a text that comes after all lines of macros. The first
  /// part gives its macros their meaning at a version, and the second undoes
  /// that.
  std::pair<std::string, std::string> macros_of(const std::string& text,
                                                std::uint64_t version) const;
  /// Returns the last definition of a macro, or null if it has none.
  EntryPtr find_macro(const std::string& name) const;

 private:
  using Keys = std::unordered_map<std::string, std::set<std::string>>;

  void set(const std::string& key, EntryPtr entry);
  void index(const Entry& entry, bool is_there);
  std::vector<EntryPtr> entries(const Keys& keys,
                                const std::string& name) const;
  std::string lines_of(const std::string& macro, std::uint64_t version) const;
  // Returns these lines for the macros of a text with these names.
  std::map<std::string, std::string> macros_at(
      const std::set<std::string>& names, std::uint64_t version) const;
  std::string identity_with_macros(const Item& item,
                                   std::uint64_t version) const;
  std::string namespace_meant(const std::string& qualifier,
                              std::string name) const;
  Item resolved(Item item) const;
  EntryPtr put_macro(Item item, const std::string& cell, Journal& journal);
  EntryPtr add(const Item& item, const std::string& cell, const EntryPtr& old,
               std::string identity, Journal& journal,
               Again again = Again::Always, std::uint64_t written = 0);

  std::uint64_t versions_ = 0;
  std::unordered_map<std::string, EntryPtr> by_key_;
  Keys keys_by_name_;
  Keys keys_by_declared_;   // by qualified name
  Keys keys_by_namespace_;  // by each namespace that the entry is in
  Keys keys_by_friend_;     // by the key of the function
  std::map<std::uint64_t, EntryPtr> always_;
  std::unordered_map<std::string, EntryPtr> macros_;       // the last line of
                                                           // each macro
  std::unordered_map<std::string, std::uint64_t> places_;  // by key
};

/// Returns code at its own line and column of its cell, in its namespaces.
std::string placed(const std::string& text, const Item& item,
                   const std::string& cell);

}  // namespace gpuos::session
