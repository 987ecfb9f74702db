#include "session/host/host_unit_writer.h"

#include <algorithm>
#include <iterator>

#include "base/concat.h"
#include "gpuos/error.h"
#include "session/cells/usual_names.h"
#include "session/device/clashes.h"
#include "session/host/host_text.h"

namespace gpuos::session {
namespace {

bool has_own_namespace(const Item& item) {
  if (item.is_member || item.kind == ItemKind::Directive) return false;
  return item.key.starts_with("t:") || item.key.starts_with("forward:") ||
         item.key.starts_with("f:") || item.key.starts_with("declared:") ||
         item.key.starts_with("v:") || item.key.starts_with("c:") ||
         item.key.starts_with("text:enum");
}

bool is_alias(const Item& item) {
  return item.text.starts_with("using") || item.text.starts_with("typedef");
}

// Returns the text before the name, which is the type, and an array's bounds.
std::string type_text(const Item& item) {
  const std::size_t behind = item.name_at + item.name.size();
  const std::size_t end =
      std::min(item.text.find_first_of("={(;", behind), item.text.size());
  std::string head = item.text.substr(0, item.name_at);
  // A deduced type is the type of the value.
  const bool is_deduced =
      head.find("auto") != head.npos || item.text.find("[ ]") != item.text.npos;
  head += is_deduced ? item.text.substr(behind)
                     : item.text.substr(behind, end - behind);
  std::erase(head, ' ');
  return head;
}

int lines_of(const std::string& text) {
  return static_cast<int>(std::ranges::count(text, '\n'));
}

// Returns the key of the definition for "forward:P" or "declared:f:f(T,)".
std::string key_of_definition(const std::string& key) {
  constexpr std::string_view kForward = "forward:";
  constexpr std::string_view kDeclared = "declared:";
  if (key.starts_with(kForward)) return "t:" + key.substr(kForward.size());
  if (key.starts_with(kDeclared)) return key.substr(kDeclared.size());
  return key;
}

std::string key_of_declaration(const std::string& key) {
  return key.starts_with("t:") ? "forward:" + key.substr(2) : "declared:" + key;
}

// Returns "<a.h>" of "#include <a.h>", or an empty text for another line.
std::string included(const Item& item) {
  const std::string& line = item.text;
  const std::size_t word = line.find_first_not_of("# \t");
  if (item.kind != ItemKind::Directive || word == line.npos ||
      line.compare(word, 7, "include") != 0)
    return "";
  const std::size_t open = line.find_first_of("<\"", word);
  if (open == line.npos) return "";
  const std::size_t close = line.find(line[open] == '<' ? '>' : '"', open + 1);
  return close == line.npos ? "" : line.substr(open, close + 1 - open);
}

// Returns a weak declaration, so that the object loads before a cell defines
// the function.
std::string made_weak(std::string declaration) {
  declaration.insert(declaration.rfind(';'), " __attribute__((weak))");
  return declaration;
}

std::string at_text(int index) {
  if (index < 0) return "";
  return concat("static const ::gpuos_host::Reached gpuos_at_", index, "(",
                index, ");\n");
}

// Returns a header line with a guard, because a header for the device may be
// missing on the host.
Item guarded(Item item) {
  if (item.is_shared && is_include(item))
    item.header = concat("#if __has_include(", included(item), ")\n",
                         item.header, "\n#endif");
  return item;
}

}  // namespace

bool is_include(const Item& item) { return !included(item).empty(); }

Item HostUnitWriter::in_own_namespace(Item item) const {
  EntryPtr type = program_.header_.find(item.friend_of);
  if (type == nullptr) type = fellow_of(item);
  if (item.key.starts_with("guide:"))
    type = program_.header_.find(
        concat("t:", qualifier_of(item.scopes), item.name));
  if (type == nullptr) type = program_.hide_type(item, unit_);
  if (type != nullptr) item.scopes = type->item.scopes;
  if (type != nullptr || !has_own_namespace(item) || is_alias(item) ||
      is_library_own(item))
    return item;
  std::erase_if(item.scopes, is_own_namespace);
  item.scopes.push_back(program_.own_namespace_in(item.scopes, unit_));
  if (item.key.starts_with("v:template ")) share_instances(item);
  return item;
}

void HostUnitWriter::write(const HostCell& cell) {
  cell_ = cell.cell;
  std::ranges::transform(
      cell.items, std::back_inserter(items_),
      [&](const Item& item) { return befriended(item, cell.items); });
  for (const Item& item : items_) {
    if (item.kind != ItemKind::Directive && !item.key.empty())
      own_[item.key] = &item;
  }
  need({});
  const CellText text{cell.cell, program_.texts_.at(cell.cell)};
  int index = 0;
  for (const Item& item : items_) {
    refuse_host_clash(text, item, program_.header_);
    write_item(item, index++);
  }
}

void HostUnitWriter::note(const Item& plain, const std::string& cell) {
  const Item given = befriended(plain, {});
  const std::string definition = key_of_definition(given.key);
  if (definition != given.key && program_.header_.find(definition) != nullptr)
    return;
  const bool is_declaration = given.kind == ItemKind::HostDeclaration;
  Item item = is_declaration ? as_declared(given) : in_own_namespace(given);
  if (item.kind == ItemKind::HostFunction) make_external(item);
  if (item.kind == ItemKind::Header) item.header = with_launches(item, cell);
  item = guarded(std::move(item));
  const HostDefinition* const known = program_.find(given.key);
  if (is_declaration && known != nullptr && !known->is_declared_only) return;
  take_scopes_of_declaration(item, given.key);
  const EntryPtr old = program_.header_.find(item.key);
  if (program_.header_.put(item, cell, journal_) == old && old != nullptr &&
      given.kind == ItemKind::Header)
    return;
  if (given.kind == ItemKind::Directive) return;
  program_.define(
      given.key,
      {.item = given, .cell = cell, .is_declared_only = is_declaration},
      journal_);
}

void HostUnitWriter::define(const Item& given) {
  program_.define(
      given.key, {.item = given, .cell = cell_, .is_compiled = true}, journal_);
  unit_.defined.push_back(given.key);
}

// A declaration has the namespace of the definition.
void HostUnitWriter::take_scopes_of_declaration(Item& item,
                                                const std::string& key) const {
  const EntryPtr declared = program_.header_.find(key_of_declaration(key));
  if (declared != nullptr && program_.header_.find(key) == nullptr)
    item.scopes = declared->item.scopes;
}

void HostUnitWriter::write_item(const Item& item, int index) {
  switch (item.kind) {
    case ItemKind::Launch:
    case ItemKind::Call:
      text_ +=
          at_text(index) + concat("static const ::gpuos_host::Ran gpuos_ran_",
                                  index, "(", index, ");\n");
      return;
    case ItemKind::HostStatement:
      return write_statement(item, index);
    case ItemKind::HostFunction:
      return write_function(item);
    case ItemKind::HostVariable:
      return write_variable(item, index);
    case ItemKind::HostDeclaration:
      return write_declaration(item);
    default:
      return write_text(item, Again::IfChanged);
  }
}

void HostUnitWriter::write_directive(const EntryPtr& entry) {
  const std::string& line = entry->item.header;
  is_past_includes_ |= !is_include(entry->item) ||
                       entry->item.text.find('<') == std::string::npos;
  if (is_past_includes_) {
    text_ += placed(line, entry->item, entry->cell);
  } else {
    includes_ += line + "\n";
  }
}

std::string HostUnitWriter::includes() const {
  return concat(program_.has_usual_ ? usual_text() : "", includes_);
}

void HostUnitWriter::need(const Names& names) {
  need_bound(names);
  const Selection selection = program_.header_.select(names, nullptr);
  Names mentioned = names;
  for (const EntryPtr& entry : selection.entries)
    mentioned.insert(entry->mentions.begin(), entry->mentions.end());
  for (const auto& [key, item] : own_) {
    if (item->kind == ItemKind::HostFunction && can_declare(*item) &&
        std::ranges::any_of(item->names, [&](const std::string& name) {
          return mentioned.contains(name);
        }))
      declare_function(*item);
  }
  for (const EntryPtr& entry : selection.entries) need_entry(entry);
  compile_reached(names);
}

// Returns whether all types of the parameters are already written. The cell may
// still have to define some.
bool HostUnitWriter::can_declare(const Item& function) const {
  const Names names = identifiers_of(function.header);
  return std::ranges::none_of(own_, [&](const auto& entry) {
    const auto& [key, item] = entry;
    return item->kind == ItemKind::Header && !done_.contains(key) &&
           std::ranges::any_of(item->declares, [&](const std::string& name) {
             return names.contains(name);
           });
  });
}

void HostUnitWriter::need_entry(const EntryPtr& entry) {
  const Item& item = entry->item;
  if (is_own(item.key)) return declare_variable(item.key);
  if (written_.contains(item.key)) return;
  if (comes_later(*entry)) return;
  const std::string definition = key_of_definition(item.key);
  if (definition != item.key &&
      (is_own(definition) || program_.header_.find(definition) != nullptr))
    return need_forward(*entry, definition);
  if (item.kind == ItemKind::Directive) {
    written_.insert(item.key);
    return write_directive(entry);
  }
  if (is_unfinished(*entry) || is_too_early(item)) return;
  if (is_stale(item.key)) return compile_again(item.key);
  written_.insert(item.key);
  done_.insert(item.key);
  const HostDefinition* const known = program_.find(item.key);
  const bool is_missing =
      known != nullptr && known->is_declared_only && !is_library_own(item);
  place(is_missing ? made_weak(item.header) : item.header, item, entry->cell,
        entry->written);
}

void HostUnitWriter::need_bound(const Names& names) {
  for (const std::string& name : names) {
    if (program_.knows(name) || !bound_.insert(name).second) continue;
    const bool is_of_cell = std::ranges::any_of(own_, [&](const auto& entry) {
      return entry.second->names.contains(name);
    });
    if (is_of_cell || program_.find_bound_ == nullptr) continue;
    if (const auto bound = program_.find_bound_(name))
      text_ += bound->declaration + "\n";
  }
}

// Compiles again all that a name reaches. A call leads to everything that the
// function's body mentions.
void HostUnitWriter::compile_reached(const Names& names) {
  std::vector<std::string> open(names.begin(), names.end());
  Names seen = names;
  Names visited;
  const auto visit = [&](const std::string& key) {
    const EntryPtr entry = program_.header_.find(key);
    if (entry != nullptr && comes_later(*entry)) return;
    if (is_own(key) || !visited.insert(key).second) return;
    const HostDefinition* known = program_.find(key);
    if (known == nullptr || is_member_of_open(known->item)) return;
    for (const std::string& next : identifiers_of(known->item.text)) {
      if (seen.insert(next).second) open.push_back(next);
    }
    if (known->item.kind != ItemKind::HostVariable && is_stale(key))
      compile_again(key);
  };
  while (!open.empty()) {
    const std::string name = std::move(open.back());
    open.pop_back();
    for (const EntryPtr& entry : program_.header_.find_named(name))
      visit(entry->item.key);
    const auto members = program_.members_.find(name);
    if (members == program_.members_.end()) continue;
    for (const std::string& key : members->second) visit(key);
  }
}

bool HostUnitWriter::is_stale(const std::string& key) const {
  const HostDefinition* const known = program_.find(key);
  if (known == nullptr || known->is_declared_only) return false;
  if (!known->is_compiled) return true;
  return std::ranges::any_of(
      known->dependencies, [&](const Dependency& dependency) {
        return !program_.header_.is_current(dependency) ||
               (retyped_.contains(dependency.key) &&
                dependency.key != known->item.key);
      });
}

std::string HostUnitWriter::reason_of(const HostDefinition& definition) const {
  for (const Dependency& dependency : definition.dependencies) {
    if (retyped_.contains(dependency.key))
      return concat(own_.at(dependency.key)->name, " is defined again in ",
                    cell_);
    if (program_.header_.is_current(dependency)) continue;
    const EntryPtr changed = program_.header_.find(dependency.key);
    if (changed == nullptr) return "something that it used is gone";
    return concat(changed->item.name, " was defined again in ", changed->cell);
  }
  return "";
}

// Throws for a variable that is out of date. The error must quote its name,
// because a local variable may have it too.
void HostUnitWriter::refuse_outdated(const CompileError& error) const {
  const std::string what = error.what();
  const std::string line = what.substr(0, what.find('\n'));
  for (const auto& [name, why] : outdated_) {
    if (line.find(concat("'", name, "'")) != line.npos)
      throw CompileError(why, error.log());
  }
}

void HostUnitWriter::compile_again(const std::string& key) {
  if (written_.contains(key)) return;
  const HostDefinition definition = *program_.find(key);
  const Item& item = definition.item;
  const std::string why = reason_of(definition);
  if (item.kind == ItemKind::HostVariable && !item.is_member) {
    outdated_[item.name] =
        concat("variable ", item.name, " (", definition.cell, "): ", why,
               "; define the variable again too");
    return;
  }
  if (!why.empty())
    again_.push_back({definition.cell, item.line,
                      item.line + lines_of(item.text),
                      concat(item.name, " (", definition.cell,
                             ") was compiled again (", why, "): ")});
  const std::string cell = std::exchange(cell_, definition.cell);
  const Item* const outer = std::exchange(written_now_, nullptr);
  const EntryPtr entry = program_.header_.find(key);
  const std::uint64_t written_at =
      std::exchange(written_at_, entry != nullptr ? entry->written : 0);
  if (item.kind == ItemKind::HostFunction) {
    write_function(item);
  } else if (item.kind == ItemKind::HostVariable) {
    write_variable(item, -1);
  } else {
    write_text(item, definition.is_compiled ? Again::Always : Again::IfChanged);
  }
  cell_ = cell;
  written_now_ = outer;
  written_at_ = written_at;
}

void HostUnitWriter::write_text(const Item& given, Again again) {
  if (given.kind == ItemKind::Directive) {
    program_.header_.put(guarded(given), cell_, journal_);
    return need({});
  }
  const std::string definition = key_of_definition(given.key);
  if (definition != given.key && !is_own(definition) &&
      program_.header_.find(definition) != nullptr) {
    const EntryPtr declared = program_.header_.find(given.key);
    if (declared != nullptr) return need_forward(*declared, definition);
    written_.insert(given.key);
    return need({given.name});
  }
  written_.insert(given.key);
  Names names = identifiers_of(given.text);
  // The type's members come after it. Overloads, and the f of "using n::f;",
  // come before it.
  if (!given.is_member && !given.key.starts_with("u:") && !is_function(given))
    names.erase(given.name);
  const Item* const outer = std::exchange(written_now_, &given);
  open_.push_back(&given);
  need(names);
  need_namesakes(given);
  open_.pop_back();
  written_now_ = outer;
  done_.insert(given.key);
  Item item = in_own_namespace(given);
  item.header = with_launches(item, cell_);
  if (const EntryPtr old = program_.header_.find(given.key);
      definition != given.key && is_own(definition) && old != nullptr) {
    item.scopes = scopes_of_definition(old->item, definition);
    if (item.scopes != old->item.scopes) again = Again::Always;
  }
  const HostDefinition* const known = program_.find(given.key);
  const bool is_known = known != nullptr && known->is_compiled;
  if (is_known && (is_stale(given.key) || has_changed_member(given)))
    again = Again::Always;
  if (is_known && again == Again::IfChanged && given.is_member &&
      known->item.text != given.text)
    refuse_member(given);
  take_scopes_of_declaration(item, given.key);
  const EntryPtr entry =
      program_.header_.put(item, cell_, journal_, again, written_at_);
  if (!placed_.insert(entry.get()).second) return;
  place(entry->item.header, entry->item, entry->cell, entry->written);
  define(given);
}

// Returns whether a type of equal text has another member in this cell.
bool HostUnitWriter::has_changed_member(const Item& type) const {
  return std::ranges::any_of(own_, [&](const auto& entry) {
    const auto& [key, item] = entry;
    const HostDefinition* const known = program_.find(key);
    return item->is_member && item->names.contains(type.name) &&
           key != type.key && known != nullptr && known->is_compiled &&
           known->item.text != item->text;
  });
}

// Writes "int f(int);", which another item of the cell or a later cell defines.
void HostUnitWriter::write_declaration(const Item& given) {
  need(identifiers_of(given.text));
  const Item item = as_declared(given);
  const HostDefinition* const known = program_.find(given.key);
  if (own_.at(given.key)->kind != ItemKind::HostDeclaration) {
    declared_.insert(given.key);
    program_.header_.keep_place(given.key);
    place(item.header, item, cell_);
    // The default arguments outlive the cell.
    if (!given.defaults.empty()) program_.header_.put(item, cell_, journal_);
  } else if (known != nullptr && !known->is_declared_only) {
    for (const EntryPtr& entry : program_.header_.find_named(given.name))
      if (entry->item.key == given.key) need_older(entry);
  } else {
    program_.header_.put(item, cell_, journal_);
    program_.define(given.key,
                    {.item = given, .cell = cell_, .is_declared_only = true},
                    journal_);
    written_.insert(given.key);
    place(is_library_own(given) ? item.header : made_weak(item.header), item,
          cell_);
  }
}

// Writes the older entry of a name that an item of the cell declares again.
void HostUnitWriter::need_older(const EntryPtr& entry) {
  own_.erase(entry->item.key);
  need_entry(entry);
}

void HostUnitWriter::refuse_member(const Item& item) const {
  throw CompileError(
      concat(cell_, ":", item.line,
             ": expected a new definition of the whole class or namespace "
             "of ",
             item.name, ", got one of ", item.name,
             " alone; define the rest too"),
      "");
}

void HostUnitWriter::declare_function(const Item& given) {
  if (given.is_member || !declared_.insert(given.key).second) return;
  Item item = in_own_namespace(given);
  make_external(item);
  need(identifiers_of(item.header));
  place(item.header, item, cell_);
  done_.insert(given.key);
}

// Writes "extern int n;" of an earlier cell before "int n = 2;" of this one.
void HostUnitWriter::declare_variable(const std::string& key) {
  const HostDefinition* const known = program_.find(key);
  const bool is_declared = known != nullptr && known->is_declared_only &&
                           own_.at(key)->kind == ItemKind::HostVariable;
  if (!is_declared || written_.contains(key) || !declared_.insert(key).second)
    return;
  Item item = in_own_namespace(known->item);
  drop_linkage(item);
  place(item.header, item, cell_);
}

void HostUnitWriter::write_function(const Item& given) {
  if (written_.contains(given.key)) return;
  written_.insert(given.key);
  declare_function(given);
  need(identifiers_of(given.text));
  Item item = in_own_namespace(given);
  make_external(item);
  if (given.is_member) {
    const HostDefinition* known = program_.find(given.key);
    const bool is_current =
        known != nullptr && known->is_compiled && !is_stale(given.key);
    if (is_current && known->item.text != given.text) refuse_member(given);
    if (is_current) return;
  } else {
    strip_defaults(item);
  }
  place(with_launches(item, cell_), item, cell_, written_at_);
  unit_.functions.push_back(given);
  if (!given.is_member || !given.friend_of.empty()) {
    Item entry = in_own_namespace(given);
    make_external(entry);
    program_.header_.put(entry, cell_, journal_,
                         given.is_member ? Again::Always : Again::IfChanged);
  }
  define(given);
}

void HostUnitWriter::write_variable(const Item& given, int index) {
  if (written_.contains(given.key)) return;
  written_.insert(given.key);
  need(identifiers_of(given.text));
  Item item = in_own_namespace(given);
  drop_linkage(item);
  std::string text = with_launches(item, cell_);
  // Without "extern" each object would have its own constant.
  if (!given.is_member && text.find("const") < given.name_at &&
      given.text.find_first_of("={(", given.name_at) != text.npos)
    text = "extern " + text;
  text_ += at_text(index);
  place(text, item, cell_);
  done_.insert(given.key);
  if (given.is_member) {
    define(given);
    return;
  }
  // The variable is put when it has been made. It comes after everything that
  // the cell puts meanwhile.
  program_.header_.keep_place(given.key);
  const HostDefinition* const known = program_.find(given.key);
  if (known != nullptr && type_text(known->item) != type_text(given)) {
    retyped_.insert(given.key);
  } else if (known != nullptr && known->is_declared_only) {
    unit_.declared.insert(index);
  }
  const std::string name = qualifier_of(given.scopes) + given.name;
  // Errors of the compiler about the variable's type name its line.
  text_ += concat("#line ", given.line, " \"", cell_, "\"\n");
  text_ += concat("static const ::gpuos_host::MadeHere gpuos_made_", index, "(",
                  index, ", __builtin_addressof(::", name, "), sizeof(::", name,
                  "), ::gpuos_host::name_of<decltype(::", name, ")>());\n");
  unit_.variables[index] = given;
}

void HostUnitWriter::write_statement(const Item& item, int index) {
  need(identifiers_of(item.text));
  // A declaration that was read as an expression is an error after a comma.
  // Without the comma it would be a variable that ends with the statement.
  text_ += concat("static void gpuos_statement_", index, "() {\n",
                  item.is_expression ? "(void)0,\n" : "");
  place(with_launches(item, cell_), item, cell_);
  text_ +=
      concat("}\n", at_text(index), "static const ::gpuos_host::Ran gpuos_ran_",
             index, "(gpuos_statement_", index, ");\n");
}

std::string HostUnitWriter::text() const {
  const std::string& name = unit_.name;
  return concat(text_,
                "#line 1 \"session\"\nextern \"C\" void* __dso_handle;\n"
                "extern \"C\" __attribute__((visibility(\"default\"))) void* ",
                name,
                "_handle() { return &__dso_handle; }\n"
                "extern \"C\" __attribute__((visibility(\"default\"))) void ",
                name,
                "_begin(const ::gpuos_host::Calls* session) {\n"
                "  ::gpuos_host::calls = session;\n}\n");
}

}  // namespace gpuos::session
