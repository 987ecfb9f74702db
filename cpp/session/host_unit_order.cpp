// In which order a unit has what other cells define: which may come, which must
// wait, and where what is declared first will be.
#include <algorithm>

#include "session/host_unit_writer.h"

namespace gpuos::session {

// Than what is being written now.
bool HostUnitWriter::comes_later(const Entry& entry) const {
  if (written_now_ == nullptr) return false;
  // "struct A::B {};" and "T A<T>::f() {}" belong to A.
  const Item& item = entry.item;
  if (item.is_member &&
      (item.key.starts_with("t:") || item.key.starts_with("f:")) &&
      written_now_->key.starts_with("t:") && item.key != written_now_->key &&
      item.names.contains(written_now_->name))
    return true;
  const EntryPtr old = program_.header_.find(written_now_->key);
  return old != nullptr &&
         program_.header_.comes_later(entry, *written_now_, old->first);
}

// A declaration of what is there says nothing, unless it comes before that.
void HostUnitWriter::need_forward(const Entry& entry,
                                  const std::string& definition) {
  const bool is_new = written_.insert(entry.item.key).second;
  if (!is_new || !entry.item.key.starts_with("forward:") ||
      done_.contains(definition))
    return;
  Item item = entry.item;
  item.scopes = scopes_of_definition(item, definition);
  text_ += placed(item.header, item, entry.cell);
}

// Where the type of the declaration `forward` is in this unit: in a namespace
// of the unit if that, or what leads to it, is compiled again.
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
  const bool is_new =
      is_changed(defined.get()) ||
      (is_compiled(definition) &&
       std::ranges::any_of(program_.header_.closure(*defined), is_changed));
  return is_new ? in_own_namespace(forward).scopes : defined->item.scopes;
}

// "using enum E;" while E is being written: whoever comes next needs it again.
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

// "using n::f;" or "auto f() { return n::f(); }" before the cell's own n::f.
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

// "a::P" of "struct P : a::P {};"
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
