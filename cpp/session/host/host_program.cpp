#include "session/host/host_program.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "base/concat.h"
#include "base/config.h"
#include "base/embedded.h"
#include "gpuos/error.h"
#include "jit/toolkit/compile_log.h"
#include "session/cells/classify.h"
#include "session/cells/usual_names.h"
#include "session/device/questions.h"
#include "session/host/host_text.h"
#include "session/host/host_unit_writer.h"

namespace gpuos::session {
namespace {

// others_of() keeps this many answers.
constexpr std::size_t kMostOthers = 256;

int next_session() {
  static std::atomic<int> last{0};
  return ++last;
}

std::string text_before_cells() {
  return concat("#define GPUOS_CELL\n", embedded_cell_names());
}

bool is_without_name(const std::string& type) {
  return type.find("lambda") != type.npos || type.find("<unnamed") != type.npos;
}

// Returns the declaration of a variable for later cells.
std::string declaration_of(const Item& item, const HostVariable& variable) {
  const bool is_thread_own =
      item.text.substr(0, item.name_at).find("thread_local") !=
      std::string::npos;
  if (!is_without_name(variable.type))
    return concat("extern ", is_thread_own ? "thread_local " : "",
                  "::gpuos_host::type<", variable.type, "> ", item.name, ";");
  // The text of the variable makes its type, once more in each object.
  return concat("inline auto& gpuos_of_", item.name, "() { static ", item.text,
                " return ", item.name, "; } static auto& ", item.name,
                " = ::gpuos_host::at(gpuos_of_", item.name, ", ",
                reinterpret_cast<std::uintptr_t>(variable.address), "ull);");
}

// Finds the place where a cell includes a missing file.
bool place_of_include(const std::string& what,
                      const std::map<std::string, std::string>& texts,
                      SourcePlace& place) {
  const std::size_t end = what.find(": No such file");
  const std::size_t begin = what.rfind(' ', end);
  if (end == what.npos || begin == what.npos) return false;
  const std::string file = what.substr(begin + 1, end - begin - 1);
  for (const auto& [name, text] : texts) {
    for (std::size_t at = text.find(file); at != text.npos;
         at = text.find(file, at + 1)) {
      const std::size_t line = text.rfind('\n', at) + 1;
      if (text.substr(line, at - line).find("include") == text.npos) continue;
      place = {.file = name,
               .line = static_cast<int>(std::count(text.begin(),
                                                   text.begin() + line, '\n')) +
                       1,
               .column = static_cast<int>(at - line) + 1};
      return true;
    }
  }
  return false;
}

// Finds the place of an error in the text before every cell. The log names the
// line of the cell that caused it.
void place_in_log(const std::string& log,
                  const std::map<std::string, std::string>& texts,
                  SourcePlace& place) {
  if (!place.file.ends_with("prelude.h")) return;
  for (std::size_t at = 0; at < log.size();) {
    const std::size_t end = std::min(log.find('\n', at), log.size());
    const std::string line = log.substr(at, end - at);
    at = end + 1;
    for (const auto& [name, text] : texts) {
      if (!line.starts_with(name + ":")) continue;
      const int number = std::atoi(line.c_str() + name.size() + 1);
      if (number == 0) continue;
      place = {.file = name, .line = number, .column = 1};
      return;
    }
  }
}

// Throws the compiler's error with the line of the cell that caused it.
[[noreturn]] void throw_with_place(
    const CompileError& error, const std::map<std::string, std::string>& texts,
    const std::vector<HostAgain>& again) {
  SourcePlace place = error.place();
  if (!texts.contains(place.file) &&
      !place_of_include(error.what(), texts, place))
    place_in_log(error.log(), texts, place);
  const auto text = texts.find(place.file);
  if (text != texts.end() && place.line > 0)
    place.excerpt = jit::excerpt_of(text->second, place);
  std::string why;
  for (const HostAgain& each : again) {
    if (each.cell == place.file && each.first_line <= place.line &&
        place.line <= each.last_line)
      why = each.why;
  }
  const std::string excerpt =
      place.excerpt.empty() ? "" : concat("\n", place.excerpt);
  const std::string what = error.what();
  std::string first = what.substr(0, what.find('\n'));
  first += hint_for(first);
  if (place.file != error.place().file)
    first = concat(place.file, ":", place.line, ":",
                   first.substr(std::min(first.find(" error:"), first.size())));
  throw CompileError(concat(why, first, excerpt), error.log(), place);
}

// Returns whether a symbol is the function `item`, which may be an overload of
// others.
bool is_symbol_of(const std::string& identity, const Item& item) {
  const std::string wanted = qualifier_of(item.scopes) + item.name + "(";
  return identity.starts_with(wanted);
}

}  // namespace

HostProgram::HostProgram(std::vector<std::string> include_dirs,
                         std::vector<std::string> flags, FindBound find_bound)
    : session_(next_session()),
      find_bound_(std::move(find_bound)),
      compiler_(text_before_cells(), std::move(include_dirs),
                std::move(flags)) {}

const HostDefinition* HostProgram::find(const std::string& key) const {
  const auto found = definitions_.find(key);
  return found == definitions_.end() ? nullptr : &found->second;
}

void HostProgram::define(const std::string& key, HostDefinition definition,
                         Journal& journal) {
  journal.record_value(definitions_, key);
  if (definition.item.is_member) {
    for (const std::string& name : definition.item.names)
      members_[name].insert(key);
  }
  definitions_[key] = std::move(definition);
}

void HostProgram::note(const Item& given, const std::string& cell,
                       Journal& journal) {
  HostUnit unit = begin_unit(cell);
  HostUnitWriter(*this, unit, journal).note(given, cell);
}

HostUnit HostProgram::begin_unit(const std::string& cell) {
  HostUnit unit;
  unit.name = concat("gpuos_", session_, "_", ++units_);
  unit.cell = cell;
  return unit;
}

// Returns "gpuos_1_3", or "gpuos_1_3_2" within another namespace. With equal
// names a using-directive or an inline namespace would make them ambiguous.
std::string HostProgram::own_namespace_in(
    const std::vector<std::string>& scopes, const HostUnit& unit) {
  std::string outer;
  for (const std::string& scope : scopes) {
    if (!scope.starts_with("extern")) outer += scope + " { ";
  }
  std::string name = unit.name.substr(6);
  if (!outer.empty())
    name += concat("_", scopes_.emplace(outer, scopes_.size()).first->second);
  return own_namespace(name);
}

EntryPtr HostProgram::hide_type(Item& variable, const HostUnit& unit) {
  if (!variable.key.starts_with("v:") || variable.is_member) return nullptr;
  EntryPtr type = header_.find(concat("t:", variable.key.substr(2)));
  if (type == nullptr || class_word_of(type->item).empty()) return nullptr;
  std::vector<std::string> scopes = variable.scopes;
  std::erase_if(scopes, is_own_namespace);
  const std::string own = own_namespace_in(scopes, unit);
  std::vector<std::string> names = namespaces_of(qualifier_of(scopes));
  for (std::string& name : names) name = name.substr(name.rfind(':') + 1);
  names.push_back(own.substr(own.find("gpuos_"),
                             own.find(" __attribute__") - own.find("gpuos_")));
  names.push_back(variable.name);
  std::string symbol = "_ZN";
  for (const std::string& name : names) symbol += concat(name.size(), name);
  const std::string label = concat(" __asm__(\"", symbol, "E\")");
  for (std::string* text : {&variable.text, &variable.header}) {
    const std::size_t at =
        text->rfind(variable.name, text->find_first_of("={;"));
    if (at != text->npos) text->insert(text->find_first_of("={(;", at), label);
  }
  return type;
}

std::string HostProgram::elaborated(const std::string& type) const {
  std::string made = type;
  const CellText cell{"", type};
  const std::vector<Token> tokens = tokenize(cell);
  for (std::size_t i = tokens.size(); i-- > 0;) {
    if (!tokens[i].is_identifier()) continue;
    std::size_t begin = i;
    std::string name(tokens[i].text);
    while (begin >= 2 && tokens[begin - 1].is("::")) {
      begin -= 2;
      name.insert(0, concat(tokens[begin].text, "::"));
    }
    name = without_own_namespaces(name);
    const EntryPtr hidden = header_.find("t:" + name);
    const bool is_hidden =
        hidden != nullptr && header_.find("v:" + name) != nullptr;
    if (is_hidden)
      made.insert(tokens[begin].offset, class_word_of(hidden->item) + " ");
    i = begin;
  }
  return made;
}

HostUnit HostProgram::compile(const HostCell& cell, const std::string& text,
                              Journal& journal) {
  note_environment();  // where the compiler is
  texts_[cell.cell] = text;
  Trial trial;
  const auto compile_now = [&] {
    HostUnit unit = compile_once(cell, trial.journal);
    journal.append(std::move(trial.journal));
    return unit;
  };
  try {
    return compile_now();
  } catch (const CompileError& error) {
    if (!has_usual_ && lacks_usual_name(error.what())) {
      trial.journal.roll_back();
      take_usual(journal);
      return compile(cell, text, journal);
    }
    // The error is in a file that may be for the device.
    const bool is_in_file =
        error.place().line > 0 && !texts_.contains(error.place().file);
    if (!is_in_file || !drop_includes(trial.journal)) throw;
  }
  return compile_now();
}

// Makes later units begin with the names that nvcc has for every source.
void HostProgram::take_usual(Journal& journal) {
  has_usual_ = true;
  journal.record([this] { has_usual_ = false; });
}

HostUnit HostProgram::compile_once(const HostCell& cell, Journal& journal) {
  HostUnit unit = begin_unit(cell.cell);
  HostUnitWriter writer(*this, unit, journal);
  try {
    writer.write(cell);
    unit.image =
        compiler_.compile({.name = cell.cell,
                           .includes = writer.includes(),
                           .text = writer.text(),
                           .exports = concat("*gpuos_", session_, "_*")});
  } catch (const CompileError& error) {
    writer.refuse_outdated(error);
    throw_with_place(error, texts_, writer.again());
  }
  ++compiled_;
  return unit;
}

void HostProgram::refuse_undefined(const HostCell& cell,
                                   const std::set<std::string>& missing) const {
  if (missing.empty()) return;
  std::vector<std::pair<std::string, std::string>> open;  // name and user
  std::set<std::string> seen;
  const auto add_uses = [&](const std::string& text, const std::string& user) {
    for (const std::string& name : identifiers_of(text)) {
      if (seen.insert(name).second) open.emplace_back(name, user);
    }
  };
  std::set<std::string> made_here;  // keys of its definitions
  for (const Item& item : cell.items) {
    const bool is_variable = item.kind == ItemKind::HostVariable;
    if (is_variable) made_here.insert(item.key);
    if (is_variable || item.kind == ItemKind::HostStatement)
      add_uses(item.text, cell.cell);
  }
  while (!open.empty()) {
    const auto [name, user] = std::move(open.back());
    open.pop_back();
    for (const EntryPtr& entry : header_.find_named(name)) {
      const HostDefinition* known = find(entry->item.key);
      if (known == nullptr) continue;
      if (!known->is_declared_only) {
        add_uses(known->item.text,
                 concat(known->item.name, " (", known->cell, ")"));
      } else if (missing.contains(name) &&
                 !made_here.contains(known->item.key)) {
        throw CompileError(concat("session: expected a definition of ", name,
                                  ", which ", user, " uses; it is declared in ",
                                  known->cell, " and defined nowhere"),
                           "");
      }
    }
  }
}

std::map<std::string, NameKind> HostProgram::ask(
    const std::set<std::string>& names, const std::vector<Item>& items,
    const CellText& cell) {
  note_environment();  // where the compiler is
  Trial trial;
  if (!has_usual_ && std::ranges::any_of(names, is_usual_name))
    take_usual(trial.journal);
  std::set<std::string> wanted;
  for (const std::string& name : names) wanted.merge(identifiers_of(name));
  for (const Item& item : items) {
    if (item.is_shared) note(item, cell.name, trial.journal);
  }
  HostUnit unit = begin_unit(cell.name);
  HostUnitWriter writer(*this, unit, trial.journal);
  std::vector<std::string> lines;
  for (const std::string& name : names)
    lines.push_back(
        concat("using gpuos_type_", lines.size(), " = ", name, ";"));
  try {
    writer.write_needed(wanted);
    const std::vector<bool> is_type = answers_in(
        compiler_.log_of({.name = cell.name,
                          .includes = writer.includes(),
                          .text = writer.text() + questions_of(lines),
                          .exports = ""}),
        lines.size());
    std::map<std::string, NameKind> kinds;
    for (std::size_t i = 0; const std::string& name : names) {
      if (i < is_type.size())
        kinds[name] = is_type[i] ? NameKind::Type : NameKind::Value;
      ++i;
    }
    return kinds;
  } catch (const CompileError&) {
    return {};  // the cell itself has the error, and is compiled next
  } catch (const BackendUnavailable&) {
    return {};  // a cell for the device alone needs no compiler
  }
}

// Asks the compiler which names exist, because a using-declaration of a missing
// name is an error.
std::string HostProgram::others_of(const std::string& name,
                                   const std::string& includes) {
  std::vector<std::string> others = {concat("using ::", name, "; ")};
  for (const EntryPtr& entry : header_.select({}, nullptr).entries) {
    if (entry->item.opens == "std")
      others.push_back(concat("using std::", name, "; "));
  }
  const std::string key = concat(name, "\n", others.size(), "\n", includes);
  if (const auto known = others_.find(key); known != others_.end())
    return known->second;
  std::vector<std::string> lines;
  for (const std::string& each : others)
    lines.push_back(
        concat("namespace gpuos_others_", lines.size(), " { ", each, "}"));
  const std::vector<bool> is_there =
      answers_in(compiler_.log_of({.name = name,
                                   .includes = includes,
                                   .text = questions_of(lines),
                                   .exports = ""}),
                 lines.size());
  if (is_there.empty()) return "";  // the compiler gave no answer
  std::string found;
  for (std::size_t i = 0; i < is_there.size(); ++i)
    found += is_there[i] ? others[i] : "";
  if (others_.size() >= kMostOthers) others_.clear();
  return others_[key] = found;
}

std::string HostProgram::macros_of(const CellText& cell) {
  note_environment();  // where the compiler is
  Trial trial;
  HostUnit unit = begin_unit(cell.name);
  HostUnitWriter writer(*this, unit, trial.journal);
  writer.write_directives();
  try {
    return compiler_.macros_of({.name = cell.name,
                                .includes = writer.includes(),
                                .text = writer.text() + cell.text + "\n",
                                .exports = ""});
  } catch (const BackendUnavailable&) {
    return "";
  }
}

std::size_t HostProgram::choose(const Conditional& conditional,
                                const CellText& cell) {
  note_environment();  // where the compiler is
  texts_[cell.name] = cell.written;
  Trial trial;
  for (const Item& item : conditional.before)
    note(item, cell.name, trial.journal);
  HostUnit unit = begin_unit(cell.name);
  HostUnitWriter writer(*this, unit, trial.journal);
  writer.write_directives();
  try {
    compiler_.compile(
        {.name = cell.name,
         .includes = writer.includes(),
         .text = writer.text() + choice_text(conditional, cell.name),
         .exports = "*"});
  } catch (const CompileError& error) {
    if (const auto chosen = chosen_in(error.log())) return *chosen;
    throw_with_place(error, texts_, {});
  }
  throw Error(concat(cell.name, ": expected an #error of a choice"));
}

// Drops includes that the device takes and the host does not. Returns false if
// there are none.
bool HostProgram::drop_includes(Journal& journal) {
  bool has_dropped = false;
  std::string before;
  for (const EntryPtr& entry : header_.select({}, nullptr).entries) {
    const std::string line = entry->item.header + "\n";
    before += line;
    if (!entry->item.is_shared || !is_include(entry->item)) continue;
    try {
      compiler_.check(before);
    } catch (const CompileError&) {
      before.resize(before.size() - line.size());
      header_.erase(entry->item.key, journal);
      has_dropped = true;
    }
  }
  return has_dropped;
}

void HostProgram::publish(const HostUnit& unit, const HostLibrary& library,
                          HostObjects& objects, Journal& journal) {
  for (const Item& item : unit.functions) {
    if (item.is_member) continue;
    for (const auto& [symbol, address] : library.exports) {
      if (symbol.find(unit.name) == symbol.npos) continue;
      const std::string identity = identity_of(symbol);
      if (!is_symbol_of(identity, item)) continue;
      const EntryPtr entry = header_.find(item.key);
      const bool replaces =
          entry != nullptr && entry->item.result == item.result;
      objects.define(identity, symbol, replaces, journal);
    }
  }
}

void HostProgram::take_made(HostUnit& unit, int index, HostVariable made,
                            const HostLibrary& library, HostObjects& objects,
                            Journal& journal) {
  const auto found = unit.variables.find(index);
  if (found == unit.variables.end()) return;
  const Item& given = found->second;
  const std::string name = qualifier_of(given.scopes) + given.name;
  Item item = given;
  drop_linkage(item);
  HostVariable named = made;
  named.type = elaborated(made.type);
  item.header = declaration_of(given, named);
  if (const EntryPtr type = hide_type(item, unit)) {
    item.scopes = type->item.scopes;
  } else {
    item.scopes.push_back(own_namespace_in(item.scopes, unit));
  }
  const EntryPtr old = header_.find(item.key);
  const bool is_declared = unit.declared.contains(index);
  const EntryPtr entry = header_.put(
      item, unit.cell, journal, is_declared ? Again::Never : Again::IfChanged);
  for (const auto& [symbol, address] : library.exports) {
    if (identity_of(symbol) != name || symbol.find(unit.name) == symbol.npos)
      continue;
    objects.define(name, symbol, old == nullptr || old == entry || is_declared,
                   journal);
  }
  define(item.key, {.item = given, .cell = unit.cell, .is_compiled = true},
         journal);
  unit.defined.push_back(item.key);
  journal.record_value(variables_, name);
  unit.made[index] = made;
  variables_[name] = std::move(made);
}

std::vector<Dependency> HostProgram::dependencies_of(
    const Item& item, const HostUnit& unit) const {
  std::vector<Dependency> found;
  // Users depend only on the type of a variable.
  const EntryPtr own = header_.find(item.key);
  const bool is_variable =
      item.kind == ItemKind::HostVariable && own != nullptr;
  const auto names = is_variable ? own->mentions : identifiers_of(item.text);
  for (const EntryPtr& entry : header_.select(names, nullptr).entries) {
    if (entry->item.kind != ItemKind::Directive && entry->item.key != item.key)
      found.push_back({entry->item.key, entry->version});
  }
  // The unit was compiled with an object that was never made.
  for (const auto& [index, variable] : unit.variables) {
    if (!unit.made.contains(index) && names.contains(variable.name))
      found.push_back({variable.key, 0});
  }
  return found;
}

void HostProgram::finish(const HostUnit& unit) {
  for (const std::string& key : unit.defined) {
    const auto found = definitions_.find(key);
    if (found != definitions_.end())
      found->second.dependencies = dependencies_of(found->second.item, unit);
  }
}

const HostVariable* HostProgram::find_variable(std::string_view name) const {
  const auto found = variables_.find(name);
  return found == variables_.end() ? nullptr : &found->second;
}

std::vector<std::string> HostProgram::variable_names() const {
  std::vector<std::string> names;
  for (const auto& [name, variable] : variables_)
    if (!holds_parts(name)) names.push_back(name);
  return names;
}

bool HostProgram::knows(const std::string& name) const {
  return !header_.find_named(name).empty();
}

bool HostProgram::has_includes() const {
  const Selection always = header_.select({}, nullptr);
  return std::ranges::any_of(always.entries, [](const EntryPtr& entry) {
    return is_include(entry->item);
  });
}

bool HostProgram::has_own(const std::string& name) const {
  return std::ranges::any_of(
      header_.find_named(name), [&](const EntryPtr& entry) {
        const HostDefinition* known = find(entry->item.key);
        return known != nullptr && known->is_compiled &&
               (known->item.kind == ItemKind::HostVariable ||
                known->item.kind == ItemKind::HostFunction) &&
               known->item.text.find("__device__") == std::string::npos;
      });
}

NameKind HostProgram::kind_of(std::string_view given) const {
  const std::string name(given);
  const NameKind kind = header_.kind_of(name);
  if (kind != NameKind::Unknown || find_bound_ == nullptr) return kind;
  return find_bound_(name) ? NameKind::Value : NameKind::Unknown;
}

}  // namespace gpuos::session
