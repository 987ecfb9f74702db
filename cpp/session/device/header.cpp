#include "session/device/header.h"

#include <algorithm>

#include "base/concat.h"

namespace gpuos::session {
namespace {

std::string identity_of(const Item& item) {
  std::string identity = item.prefix;
  for (const std::string& scope : item.scopes) {
    if (!is_own_namespace(scope)) identity += scope + " { ";
  }
  if (!item.result.empty()) return identity + item.result + item.key;
  const CellText text{"", item.header};
  for (const Token& token : tokenize(text)) {
    identity += token.text;
    identity += ' ';
  }
  return identity;
}

// Returns whether the item is "#if ... #endif".
bool is_block(const Item& item) {
  return directive_word(item.header).starts_with("if");
}

bool by_version(const EntryPtr& a, const EntryPtr& b) {
  return a->version < b->version;
}

// Puts an entry after the entries that it needs. The order of the cells is
// enough, except after a new definition: an older entry may need a newer
// version.
class Emitter {
 public:
  Emitter(const Header& header, std::vector<EntryPtr> entries)
      : header_(header), entries_(std::move(entries)) {
    std::ranges::sort(entries_, by_version);
    for (const EntryPtr& entry : entries_) {
      for (const std::string& name : entry->item.names)
        by_name_[name].push_back(entry);
    }
  }

  Selection run() {
    for (const EntryPtr& entry : entries_) emit(entry);
    return std::move(selection_);
  }

 private:
  void emit(const EntryPtr& entry) {
    if (!seen_.insert(entry.get()).second) return;
    const bool is_forward = entry->item.key.starts_with("forward:");
    for (const std::string& name : entry->mentions) {
      const auto found = by_name_.find(name);
      if (found == by_name_.end()) continue;
      // "struct P;" does not need the definition of P.
      if (is_forward && name == entry->item.name) continue;
      for (const EntryPtr& needed : found->second) {
        if (needed->first < entry->version &&
            !header_.comes_later(*needed, entry->item, entry->first))
          emit(needed);
      }
    }
    selection_.text += placed(entry->item.header, entry->item, entry->cell);
    selection_.entries.push_back(entry);
  }

  const Header& header_;
  std::vector<EntryPtr> entries_;
  std::unordered_map<std::string, std::vector<EntryPtr>> by_name_;
  std::set<const Entry*> seen_;
  Selection selection_;
};

// Returns whether the item needs only a declaration of the name. It does in "P*
// p", "const P& f();", "friend struct P;" and "typedef P Q;". It does not in "P
// p".
bool has_pointers_only(const Item& item, const std::string& name) {
  if (item.header.starts_with("typedef") &&
      item.header.find('[') == std::string::npos)
    return true;
  const CellText text{"", item.header};
  const std::vector<Token> tokens = tokenize(text);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (!tokens[i].is(name)) continue;
    std::size_t next = i + 1;
    if (next < tokens.size() && tokens[next].is("const")) ++next;
    if (next == tokens.size()) return false;
    const bool is_named =
        tokens[next].is(";") && i > 0 &&
        (tokens[i - 1].is_identifier() || tokens[i - 1].is("::"));
    if (!is_named && !tokens[next].is("*") && !tokens[next].is("&"))
      return false;
  }
  return true;
}

bool is_same_declaration(const Entry& old, const Item& fresh,
                         const std::string& identity) {
  if (old.identity != identity) return false;
  // A definition may omit the default arguments of its declaration.
  return fresh.defaults.empty() || fresh.defaults == old.item.defaults;
}

// Returns whether `given` is "using n::f;" for the f of namespace n that is
// being defined.
bool is_using_of(const Item& given, const Item& own) {
  if (!given.key.starts_with("u:") || given.name != own.name) return false;
  std::string text = given.header;
  std::erase(text, ' ');
  const std::string wanted = qualifier_of(own.scopes) + own.name;
  return text == concat("using", wanted, ";") ||
         text == concat("using::", wanted, ";");
}

// Returns whether the unit omits the entry. A second declaration with default
// arguments is an error, and so is a second one of a variable. A declaration
// from a definition that is being replaced adds nothing.
bool is_left_out(const Entry& entry, const Item* own) {
  if (own == nullptr) return false;
  if (is_using_of(entry.item, *own)) return true;
  return entry.item.key == own->key &&
         (entry.item.kind != ItemKind::Declaration || !own->defaults.empty() ||
          own->kind == ItemKind::Variable);
}

}  // namespace

EntryPtr Header::find(const std::string& key) const {
  const auto found = by_key_.find(key);
  return found == by_key_.end() ? nullptr : found->second;
}

std::vector<EntryPtr> Header::entries(const Keys& keys,
                                      const std::string& name) const {
  std::vector<EntryPtr> found;
  const auto known = keys.find(name);
  if (known == keys.end()) return found;
  for (const std::string& key : known->second) {
    if (EntryPtr entry = find(key)) found.push_back(std::move(entry));
  }
  return found;
}

std::vector<EntryPtr> Header::find_named(const std::string& name) const {
  return entries(keys_by_name_, name);
}

std::vector<EntryPtr> Header::find_declared(
    const std::string& qualified) const {
  return entries(keys_by_declared_, qualified);
}

std::vector<EntryPtr> Header::find_befriending(const std::string& key) const {
  return entries(keys_by_friend_, key);
}

EntryPtr Header::find_within(const std::string& qualified) const {
  const auto known = keys_by_namespace_.find(qualified);
  if (known == keys_by_namespace_.end() || known->second.empty())
    return nullptr;
  return find(*known->second.begin());
}

NameKind Header::kind_of(const std::string& name) const {
  const bool is_qualified = name.find("::") != name.npos;
  const std::string plain = name.substr(is_qualified ? name.rfind(':') + 1 : 0);
  std::set<NameKind> kinds;
  for (const EntryPtr& entry :
       is_qualified ? find_declared(name) : find_named(name)) {
    if (entry->item.declares.contains(plain))
      kinds.insert(kind_in(entry->item, plain));
  }
  return kinds.size() == 1 ? *kinds.begin() : NameKind::Unknown;
}

EntryPtr Header::find_macro(const std::string& name) const {
  const auto known = macros_.find(name);
  if (known == macros_.end() || known->second == nullptr) return nullptr;
  const bool is_defined =
      known->second->item.header.find("define") != std::string::npos;
  return is_defined ? known->second : nullptr;
}

// Returns the last #define or #undef, and all "#if ... #endif" since then.
std::string Header::lines_of(const std::string& macro,
                             std::uint64_t version) const {
  std::string lines;
  const auto end = always_.upper_bound(version);
  for (auto line = always_.begin(); line != end; ++line) {
    const Item& item = line->second->item;
    if (item.kind != ItemKind::Directive || !item.names.contains(macro))
      continue;
    if (!is_block(item)) lines.clear();
    lines += item.header + "\n";
  }
  return lines;
}

std::map<std::string, std::string> Header::macros_at(
    const std::set<std::string>& names, std::uint64_t version) const {
  std::map<std::string, std::string> found;
  std::vector<std::string> open(names.begin(), names.end());
  while (!open.empty()) {
    const std::string name = std::move(open.back());
    open.pop_back();
    const auto known = macros_.find(name);
    if (known == macros_.end() || known->second == nullptr) continue;
    const auto [place, is_new] =
        found.try_emplace(name, lines_of(name, version));
    if (!is_new) continue;
    for (const std::string& next : identifiers_of(place->second))
      open.push_back(next);
  }
  return found;
}

std::pair<std::string, std::string> Header::macros_of(
    const std::string& text, std::uint64_t version) const {
  std::pair<std::string, std::string> lines;
  if (version == 0) return lines;
  for (const auto& [name, meant] : macros_at(identifiers_of(text), version)) {
    if (macros_.at(name)->version <= version) continue;
    const std::string quoted = concat("(\"", name, "\")\n");
    lines.first +=
        concat("#pragma push_macro", quoted, "#undef ", name, "\n", meant);
    lines.second += concat("#pragma pop_macro", quoted);
  }
  return lines;
}

void Header::index(const Entry& entry, bool is_there) {
  const auto note = [&](Keys& keys, const std::string& name) {
    if (is_there)
      keys[name].insert(entry.item.key);
    else
      keys[name].erase(entry.item.key);
  };
  const std::string qualifier = qualifier_of(entry.item.scopes);
  for (const std::string& name : entry.item.names) note(keys_by_name_, name);
  for (const std::string& name : entry.item.declares)
    note(keys_by_declared_, qualifier + name);
  for (const std::string& name : namespaces_of(qualifier))
    note(keys_by_namespace_, name);
  for (const std::string& key : entry.item.befriends)
    note(keys_by_friend_, key);
}

void Header::set(const std::string& key, EntryPtr entry) {
  if (const EntryPtr old = find(key)) {
    index(*old, false);
    always_.erase(old->version);
    by_key_.erase(key);
  }
  if (entry == nullptr) return;
  index(*entry, true);
  if (entry->item.is_always) always_[entry->version] = entry;
  by_key_[key] = std::move(entry);
}

EntryPtr Header::add(const Item& item, const std::string& cell,
                     const EntryPtr& old, std::string identity,
                     Journal& journal, Again again, std::uint64_t written) {
  auto entry = std::make_shared<Entry>();
  entry->item = item;
  entry->cell = cell;
  entry->identity = std::move(identity);
  entry->mentions = identifiers_of(item.header);
  const bool is_new = again != Again::Never || old == nullptr;
  entry->version = is_new ? ++versions_ : old->version;
  entry->written = written != 0 ? written : entry->version;
  const auto place = places_.find(item.key);
  const Entry* const before = old.get();
  if (before != nullptr) {
    entry->first = before->first;
  } else {
    entry->first = place != places_.end() ? place->second : entry->version;
  }
  journal.record([this, key = item.key, old] { set(key, old); });
  set(item.key, entry);
  return entry;
}

// Adds a macro. Earlier declarations keep the macro's earlier text, as in a
// file. The meaning of a block of #if depends on the macro's earlier value.
EntryPtr Header::put_macro(Item item, const std::string& cell,
                           Journal& journal) {
  const EntryPtr last = macros_[item.name];
  if (last != nullptr && last->item.header == item.header) return nullptr;
  if (last != nullptr && !is_block(item)) {
    Item undo = item;
    undo.header = concat("#undef ", item.name);
    undo.key += concat("@", versions_);
    add(undo, cell, nullptr, "", journal);
  }
  item.key += concat("@", versions_);
  EntryPtr entry = add(item, cell, nullptr, "", journal);
  for (const std::string& name : item.names) {
    journal.record_value(macros_, name);
    macros_[name] = entry;
  }
  return entry;
}

// Returns the namespace that `name` means in `qualifier`. Returns an empty text
// if the session has none of that name.
std::string Header::namespace_meant(const std::string& qualifier,
                                    std::string name) const {
  std::vector<std::string> places = {""};
  if (name.starts_with("::"))
    name.erase(0, 2);
  else
    for (const std::string& outer : namespaces_of(qualifier))
      places.push_back(outer + "::");
  for (; !places.empty(); places.pop_back()) {
    std::string full = places.back() + name;
    if (find_within(full) != nullptr) return full;
    for (const EntryPtr& entry : find_declared(full)) {
      if (!entry->item.opens.empty()) return entry->item.opens;
    }
  }
  return "";
}

// Resolves "using namespace a;" and "namespace b = a;". A unit may have no
// declaration of `a`, so the text begins with an empty one.
Item Header::resolved(Item item) const {
  const std::string qualifier = qualifier_of(item.scopes);
  const std::string meant = namespace_meant(qualifier, item.opens);
  if (meant.empty()) {
    // The namespace is in an #include or comes later. A namespace of std may
    // not exist.
    if (qualifier.empty() && !item.opens.starts_with("std::"))
      item.header = concat("namespace ", item.opens, " {} ", item.text);
    return item;
  }
  item.opens = meant;
  std::string reopened;
  for (const std::string& scope : item.scopes) reopened += scope + " { ";
  item.header =
      concat(std::string(item.scopes.size(), '}'), " namespace ", meant, " {} ",
             reopened,
             item.name.empty() ? std::string("using namespace")
                               : concat("namespace ", item.name, " ="),
             " ::", meant, ";");
  return item;
}

// Returns the identity with the macros' meanings, because equal text with
// another macro is another declaration.
std::string Header::identity_with_macros(const Item& item,
                                         std::uint64_t version) const {
  std::string identity = identity_of(item);
  if (!item.result.empty()) return identity;
  for (const auto& [name, meant] : macros_at(
           identifiers_of(item.header), version != 0 ? version : versions_ + 1))
    identity += meant;
  return identity;
}

EntryPtr Header::put(const Item& given, const std::string& cell,
                     Journal& journal, Again again, std::uint64_t written) {
  if (given.header.empty()) return nullptr;
  const Item item = given.opens.empty() ? given : resolved(given);
  if (item.kind == ItemKind::Directive && !item.name.empty())
    return put_macro(item, cell, journal);
  EntryPtr old = find(item.key);
  std::string identity = identity_with_macros(item, written);
  if (old != nullptr && again == Again::IfChanged &&
      is_same_declaration(*old, item, identity))
    return old;
  return add(item, cell, old, std::move(identity), journal, again, written);
}

bool Header::comes_later(const Entry& needed, const Item& item,
                         std::uint64_t first) const {
  const std::string& key = needed.item.key;
  if (!item.key.empty() && needed.item.friend_of == item.key) return true;
  if (needed.first < first || !key.starts_with("t:") ||
      find("forward:" + key.substr(2)) == nullptr)
    return false;
  return has_pointers_only(item, needed.item.name) &&
         std::ranges::any_of(closure(needed), [&](const Entry* reached) {
           return reached->item.key == item.key;
         });
}

std::set<const Entry*> Header::closure(const Entry& entry) const {
  std::set<const Entry*> reached = {&entry};
  std::vector<const Entry*> open = {&entry};
  while (!open.empty()) {
    const Entry* const next = open.back();
    open.pop_back();
    for (const std::string& name : next->mentions) {
      for (const EntryPtr& other : find_named(name)) {
        if (reached.insert(other.get()).second) open.push_back(other.get());
      }
    }
  }
  return reached;
}

bool Header::has_same(const Item& item) const {
  const EntryPtr old = find(item.key);
  return old != nullptr &&
         is_same_declaration(*old, item, identity_with_macros(item, 0));
}

Selection Header::select(const std::set<std::string>& roots,
                         const Item* own) const {
  std::set<std::string> seen = roots;
  std::vector<std::string> names(roots.begin(), roots.end());
  std::set<EntryPtr> chosen;
  const auto choose = [&](const EntryPtr& entry) {
    if (is_left_out(*entry, own) || !chosen.insert(entry).second) return;
    for (const std::string& name : entry->mentions) {
      if (seen.insert(name).second) names.push_back(name);
    }
  };
  for (const auto& [version, entry] : always_) {
    // "using enum E;" needs E. A macro needs nothing until code uses it.
    if (entry->item.kind != ItemKind::Directive && entry->item.opens.empty())
      choose(entry);
  }
  while (!names.empty()) {
    const std::string name = std::move(names.back());
    names.pop_back();
    for (const EntryPtr& entry : find_named(name)) choose(entry);
  }
  for (const auto& [version, entry] : always_) chosen.insert(entry);
  return Emitter(*this, {chosen.begin(), chosen.end()}).run();
}

void Header::erase(const std::string& key, Journal& journal) {
  journal.record([this, key, old = find(key)] { set(key, old); });
  set(key, nullptr);
}

bool Header::is_current(const Dependency& dependency) const {
  const EntryPtr entry = find(dependency.key);
  return entry != nullptr && entry->version == dependency.version;
}

std::string placed(const std::string& text, const Item& item,
                   const std::string& cell) {
  std::string code;
  std::string closing;
  for (const std::string& scope : item.scopes) {
    code += scope + " {\n";
    closing += '}';
  }
  std::string name;
  for (const char c : item.file.empty() ? cell : item.file) {
    if (c == '"' || c == '\\') name += '\\';
    name += c;
  }
  if (!item.prefix.empty()) code += item.prefix + "\n";
  code += concat("#line ", item.line, " \"", name, "\"\n");
  // The blanks make the compiler count columns as the cell does.
  code.append(static_cast<std::size_t>(item.column - 1), ' ');
  code += text + "\n";
  if (!closing.empty()) code += closing + "\n";
  return code;
}

}  // namespace gpuos::session
