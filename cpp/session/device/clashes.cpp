#include "session/device/clashes.h"

#include <array>

#include "base/concat.h"
#include "gpuos/error.h"
#include "session/device/compiling.h"

namespace gpuos::session {
namespace {

struct Stranger {
  std::string name;  // qualified
  EntryPtr entry;
  std::string_view what;
};

std::string_view what_is(const Item& item) {
  if (!item.opens.empty()) return "a namespace alias";
  if (item.kind == ItemKind::Kernel) return "a kernel";
  if (item.key.starts_with("f:") || item.key.starts_with("declared:"))
    return "a function";
  if (item.key.starts_with("v:")) return "a variable";
  if (item.key.starts_with("t:") || item.key.starts_with("forward:"))
    return "a type";
  if (item.key.starts_with("c:")) return "a concept";
  if (item.key.starts_with("u:")) return "a using-declaration";
  return "another thing";
}

bool is_of_c(const Item& item) {
  return !item.scopes.empty() && item.scopes.back().starts_with("extern");
}

// Returns whether both items may have one name. These are overloads, versions
// of one item, a class and its declaration, and "struct s s;" of a class s.
bool go_together(const Item& a, const Item& b) {
  if (a.key == b.key) return true;
  if (what_is(a) == "a variable" && !class_word_of(b).empty()) return true;
  if (is_function(a) && is_function(b)) return !is_of_c(a) || !is_of_c(b);
  return what_is(a) == "a type" && what_is(b) == "a type";
}

std::vector<Stranger> strangers_of(const Item& item, const Header& header) {
  std::vector<Stranger> found;
  const std::string qualifier = qualifier_of(item.scopes);
  for (const std::string& plain : item.declares) {
    const std::string name = qualifier + plain;
    for (const EntryPtr& other : header.find_declared(name)) {
      if (!go_together(item, other->item))
        found.push_back({name, other, what_is(other->item)});
    }
    if (const EntryPtr inside = header.find_within(name))
      found.push_back({name, inside, "a namespace"});
    if (const EntryPtr macro = header.find_macro(plain))
      found.push_back({plain, macro, "a macro"});
  }
  for (const std::string& name : namespaces_of(qualifier)) {
    for (const EntryPtr& other : header.find_declared(name))
      found.push_back({name, other, what_is(other->item)});
    const std::string plain = name.substr(name.rfind(':') + 1);
    if (const EntryPtr macro = header.find_macro(plain))
      found.push_back({plain, macro, "a macro"});
  }
  return found;
}

// Returns the entry in a place where its name is free: in a namespace, without
// the macro.
Source where_it_is_free(const Entry& entry, const Stranger& other,
                        const Header& header) {
  Item item = entry.item;
  // In extern "C" all names are in one place.
  std::erase_if(item.scopes, [](const std::string& scope) {
    return scope.starts_with("extern");
  });
  item.scopes.insert(item.scopes.begin(), "namespace in_gpuos");
  if (other.entry->item.kind == ItemKind::Directive)
    item.scopes.insert(item.scopes.begin(),
                       concat("\n#undef ", other.name, "\nextern \"C++\""));
  Item own = entry.item;
  own.defaults = "()";  // leaves a declaration out too
  const Selection selection = header.select(entry.mentions, &own);
  return {selection.text + placed(item.header, item, entry.cell), entry.cell};
}

bool compiles(const Source& source, Compiler& compiler) {
  try {
    compiler.compile({&source, 1});
    return true;
  } catch (const CompileError&) {
    return false;
  }
}

[[noreturn]] void fail_clash(const CellText& cell, const Item& item,
                             const Stranger& other) {
  fail_at(cell, item.line, item.column,
          concat("expected a new name, got ", other.name, ", which is ",
                 other.what, " of ", other.entry->cell));
}

// Returns whether the name has one meaning. A using-declaration may add
// functions, and the meaning of "another thing" is unknown.
bool has_one_meaning(std::string_view what) {
  return what != "a using-declaration" && what != "another thing" &&
         what != "a macro";
}

}  // namespace

void refuse_clashes(const CellText& cell, std::span<const EntryPtr> added,
                    const Header& header, Compiler& compiler) {
  for (const EntryPtr& entry : added) {
    for (const Stranger& other : strangers_of(entry->item, header)) {
      const std::array both = {entry, other.entry};
      if (compiles(make_check(both, cell.name, header), compiler)) continue;
      if (!compiles(where_it_is_free(*entry, other, header), compiler))
        continue;  // The entry is wrong by itself, and its own compilation
                   // reports that.
      fail_clash(cell, entry->item, other);
    }
  }
}

void refuse_host_clash(const CellText& cell, const Item& item,
                       const Header& header) {
  if (!has_one_meaning(what_is(item))) return;
  const bool is_hidden =  // a new version of s in "struct s s;"
      !class_word_of(item).empty() && header.find(item.key) != nullptr;
  for (const Stranger& other : strangers_of(item, header)) {
    if (has_one_meaning(other.what) &&
        !(is_hidden && other.what == "a variable"))
      fail_clash(cell, item, other);
  }
}

}  // namespace gpuos::session
