#include "session/workspace.h"

#include <algorithm>
#include <array>
#include <exception>
#include <span>

#include "base/concat.h"
#include "gpuos/error.h"
#include "session/cells/classify.h"
#include "session/device/clashes.h"
#include "session/device/questions.h"
#include "session/host/host_text.h"
#include "session/host/host_unit_writer.h"

namespace gpuos::session {
namespace {

std::string_view kind_of(const Item& item) {
  switch (item.kind) {
    case ItemKind::Kernel:
      return "kernel";
    case ItemKind::Function:
      return "function";
    case ItemKind::Variable:
      return "variable";
    case ItemKind::Declaration:
      return "declaration";
    case ItemKind::Directive:
      return "macro";
    default:
      return "name";
  }
}

// Returns whether the item is a kernel, a declaration of one or a template.
bool is_kernel(const Item& item) {
  if (item.kind == ItemKind::Kernel) return true;
  return (item.kind == ItemKind::Declaration ||
          item.kind == ItemKind::Header) &&
         item.key.find("f:") != item.key.npos &&
         item.text.find("__global__") != item.text.npos;
}

}  // namespace

// Returns flags for the macros, which both compilers get.
std::vector<std::string> Workspace::host_flags(const JitOptions& options) {
  std::vector<std::string> flags;
  for (const auto& [name, text] : options.defines)
    flags.push_back(concat("-D", name, "=", text));
  return flags;
}

CellReport Workspace::run_text(const CellText& cell) {
  CellReport report;
  report.cell = cell.name;
  try {
    const std::vector<Item> items = split(cell);
    has_headers_ = std::ranges::any_of(
        items, [](const Item& item) { return !item.file.empty(); });
    Attempt attempt{.cell = cell, .host_only = {}};
    try {
      run_attempt(attempt, items, report);
    } catch (const CompileError& error) {
      if (attempt.is_clash) throw;
      attempt.host_only = find_host_only(items, cell);
      if (attempt.host_only.empty()) throw;
      roll_back();
      run_for_host(attempt, items, report, error, std::current_exception());
    }
    if (has_headers_) keep_headers(items);
  } catch (...) {
    roll_back();
    throw;
  }
  return report;
}

// Returns the part that a compiler takes. A definition counts for the whole
// session, so only one side is asked.
std::size_t Workspace::choose(const Conditional& conditional,
                              const CellText& cell) {
  if (conditional.has_host_code) return host_.choose(conditional, cell);
  Trial trial;
  for (const Item& item : conditional.before)
    header_.put(item, cell.name, trial.journal);
  const Source source{
      header_.select({}, nullptr).text + choice_text(conditional, cell.name),
      cell.name};
  try {
    compiler_.compile({&source, 1});
  } catch (const CompileError& error) {
    if (const auto chosen = chosen_in(error.log())) return *chosen;
    // The host takes headers that a device does not.
    return host_.choose(conditional, cell);
  }
  throw Error(concat(cell.name, ": expected an #error of a choice"));
}

// Compiles the cell again and keeps the items for the host alone that no device
// takes. If the host refuses an equal line too, the device's error is right,
// unless the item uses a library.
void Workspace::run_for_host(Attempt& attempt, const std::vector<Item>& items,
                             CellReport& report, const CompileError& first,
                             const std::exception_ptr& error) {
  const bool uses_library = std::ranges::any_of(items, [&](const Item& item) {
    return attempt.host_only.contains(item.key) &&
           (item.kind == ItemKind::Directive ||
            identifiers_of(item.text).contains("std"));
  });
  Attempt second{.cell = attempt.cell, .host_only = attempt.host_only};
  CellReport fresh;
  fresh.cell = report.cell;
  try {
    run_attempt(second, items, fresh);
  } catch (const CompileError& own) {
    const bool is_same = own.place().file == first.place().file &&
                         own.place().line == first.place().line;
    const auto says = [](const CompileError& one, std::string_view words) {
      return std::string_view(one.what()).find(words) != words.npos;
    };
    // The missing name is from the missing header.
    const bool lacks_header =
        says(first, "open source file") && says(own, "is undefined");
    const bool is_about_sides =  // the error is not about the line
        says(first, "execution space");
    if (!lacks_header && (uses_library || !is_same || is_about_sides)) throw;
    std::rethrow_exception(error);
  } catch (const BackendUnavailable&) {
    if (uses_library) throw;
    std::rethrow_exception(error);
  }
  report = std::move(fresh);
}

void Workspace::run_attempt(Attempt& attempt, const std::vector<Item>& items,
                            CellReport& report) {
  for (const Item& item : items) {
    attempt.has_includes |= is_include(item);
    attempt.needs_host |= is_host_statement(item, attempt) ||
                          item.kind == ItemKind::HostFunction ||
                          item.kind == ItemKind::HostVariable ||
                          attempt.host_only.contains(item.key);
    take(item, attempt, report);
  }
  try {
    refuse_clashes(attempt.cell, attempt.added, header_, compiler_);
  } catch (const CompileError&) {
    attempt.is_clash = true;
    throw;
  }
  compile(attempt.jobs, attempt.added, report);
  report.host_cell.cell = report.cell;
  if (attempt.needs_host) {
    report.host_unit =
        host_.compile(report.host_cell, attempt.cell.written, current_);
  } else {
    for (const Item& item : report.host_cell.items) {
      if (item.kind != ItemKind::Launch && item.kind != ItemKind::Call)
        host_.note(item, report.cell, current_);
    }
  }
}

// Returns the shared items that the device's compiler refuses by themselves.
std::set<std::string> Workspace::find_host_only(const std::vector<Item>& items,
                                                const CellText& cell) {
  roll_back();
  std::set<std::string> found;
  for (const Item& item : items) {
    if (item.is_host() || item.header.empty() ||
        item.kind == ItemKind::Launches)
      continue;
    if (item.is_shared && item.text.find("__device__") == item.text.npos) {
      const EntryPtr entry =
          header_.put(type_for_device(item), cell.name, current_);
      try {
        const std::array own = {entry};
        const Source check =
            make_check(entry == nullptr ? std::span<const EntryPtr>() : own,
                       cell.name, header_);
        compiler_.compile({&check, 1});
        continue;
      } catch (const CompileError&) {
        found.insert(item.key);
      }
      if (entry != nullptr) header_.erase(entry->item.key, current_);
    } else {
      header_.put(type_for_device(item), cell.name, current_);
    }
  }
  roll_back();
  return found;
}

bool Workspace::is_host_statement(const Item& item,
                                  const Attempt& attempt) const {
  if (item.kind == ItemKind::HostStatement) return true;
  if (item.kind == ItemKind::Call) {
    const std::string key = concat("f:", item.name, "()");
    if (attempt.host_functions.contains(key) ||
        attempt.host_names.contains(item.name))
      return true;
    if (find_launches(item.name) != nullptr) return false;
    // Only the compiler knows an included function.
    return host_.has_own(item.name) || host_.find(key) != nullptr ||
           attempt.has_includes || host_.has_includes() ||
           item.name.starts_with("cuda");
  }
  if (item.kind != ItemKind::Launch && item.kind != ItemKind::Launches)
    return false;
  const auto names_host = [&](const std::string& text) {
    return std::ranges::any_of(
        identifiers_of(text), [&](const std::string& name) {
          return attempt.host_names.contains(name) || host_.has_own(name);
        });
  };
  if (item.kind == ItemKind::Launch) return names_host(item.text);
  return std::ranges::any_of(item.statements, [&](const Item& statement) {
    return is_host_statement(statement, attempt);
  });
}

// Refuses a name of the other side, because a name has one meaning on both
// sides.
void Workspace::refuse_other_side(const Item& item,
                                  const CellText& cell) const {
  const std::string qualifier = qualifier_of(item.scopes);
  for (const std::string& name : item.declares) {
    for (const EntryPtr& other : header_.find_declared(qualifier + name)) {
      const bool is_overload = item.kind != ItemKind::HostVariable &&
                               other->item.key.starts_with("f:") &&
                               other->item.key != item.key;
      if (other->item.is_shared || is_overload) continue;
      fail_at(cell, item.line, item.column,
              concat("expected a new name, got ", qualifier, name,
                     ", which is device code of ", other->cell));
    }
  }
}

void Workspace::take(const Item& item, Attempt& attempt, CellReport& report) {
  if (!item.is_host() && is_host_statement(item, attempt)) {
    Item statement = item;
    statement.kind = item.kind == ItemKind::Launches ? ItemKind::HostFunction
                                                     : ItemKind::HostStatement;
    return take_host(std::move(statement), attempt, report);
  }
  if (item.is_host()) return take_host(item, attempt, report);
  const bool is_host_only = attempt.host_only.contains(item.key);
  if (!is_host_only) take_device(type_for_device(item), attempt, report);
  if (item.kind == ItemKind::Launch || item.kind == ItemKind::Call) {
    report.host_cell.items.push_back(item);
  } else if (item.kind == ItemKind::Launches) {
    report.host_cell.items.push_back(launches_stub(item));
  } else if (is_kernel(item)) {
    Item stub = kernel_stub(item);
    // The first declaration in a cell has the default arguments.
    const std::string key =
        concat(stub.text.starts_with("template") ? "stub template " : "stub ",
               stub.key);
    if (attempt.keys.insert(key).second)
      report.host_cell.items.push_back(std::move(stub));
  } else if (item.is_shared || item.text.find("__host__") != item.text.npos) {
    Item host = type_for_host(item);
    host.is_shared = !is_host_only;
    if (item.kind == ItemKind::Function) host.kind = ItemKind::HostFunction;
    if (item.kind == ItemKind::Declaration)
      host.kind = ItemKind::HostDeclaration;
    // The host has one object, but the device has a copy for each kernel.
    if (is_host_only && item.key.starts_with("v:") &&
        !item.key.starts_with("v:template ") &&
        item.text.find("constexpr") == item.text.npos)
      host.kind = ItemKind::HostVariable;
    report.host_cell.items.push_back(std::move(host));
    if (is_host_only && !item.name.empty())
      report.defined.push_back(concat(kind_of(item), " ", item.name));
  }
}

void Workspace::take_host(Item item, Attempt& attempt, CellReport& report) {
  refuse_other_side(item, attempt.cell);
  const bool is_definition = item.kind == ItemKind::HostFunction ||
                             item.kind == ItemKind::HostVariable;
  if (is_definition) {
    if (!attempt.keys.insert(item.key).second)
      fail_at(attempt.cell, item.line, item.column,
              concat("expected one definition of ", item.name,
                     " in a cell, got a second"));
    if (!holds_parts(item.name))
      report.defined.push_back(concat(item.kind == ItemKind::HostFunction
                                          ? "host function "
                                          : "host variable ",
                                      qualifier_of(item.scopes), item.name));
    attempt.host_names.insert(item.declares.begin(), item.declares.end());
  }
  if (item.kind != ItemKind::HostStatement)
    attempt.host_functions.insert(item.key);
  if (item.kind == ItemKind::HostFunction) drop_launches(item.name);
  report.host_cell.items.push_back(std::move(item));
}

void Workspace::take_device(const Item& item, Attempt& attempt,
                            CellReport& report) {
  if (item.kind == ItemKind::Launch || item.kind == ItemKind::Call) {
    report.statements.push_back(item);
    return;
  }
  const CellText& cell = attempt.cell;
  const bool is_definition =
      item.kind != ItemKind::Declaration && item.kind != ItemKind::Directive &&
      !item.key.starts_with("forward:") && !item.key.starts_with("declared:");
  if (is_definition && !item.key.empty() &&
      !attempt.keys.insert(item.key).second)
    fail_at(cell, item.line, item.column,
            concat("expected one definition of ", item.name,
                   " in a cell, got a second"));
  refuse_host_name(item, cell);
  if (!item.name.empty())
    report.defined.push_back(
        concat(kind_of(item), " ", qualifier_of(item.scopes), item.name));
  if (item.kind == ItemKind::Launches) {
    set_launches(item, report.cell);
    return;
  }
  if (item.kind == ItemKind::Header) definitions_.erase(item, current_);
  put_whole(concat("declared:", item.key));
  if (const EntryPtr entry = header_.put(item, report.cell, current_))
    attempt.added.push_back(entry);
  if (item.key.starts_with("declared:") &&
      header_.find(item.key.substr(9)) != nullptr)
    put_whole(item.key);
  if (item.kind == ItemKind::Function || item.kind == ItemKind::Kernel ||
      item.kind == ItemKind::Variable)
    attempt.jobs.push_back(make_job(item, report.cell, header_));
}

// Puts the whole declaration, which may be constexpr or inline, because a
// definition follows.
void Workspace::put_whole(const std::string& declaration) {
  const EntryPtr entry = header_.find(declaration);
  if (entry == nullptr || entry->item.header == entry->item.text) return;
  Item whole = entry->item;
  whole.header = whole.text;
  header_.put(whole, entry->cell, current_);
}

void Workspace::refuse_host_name(const Item& item, const CellText& cell) const {
  if (item.is_shared) return;
  const std::string name = qualifier_of(item.scopes) + item.name;
  const HostVariable* known = host_.find_variable(name);
  if (known != nullptr)
    fail_at(cell, item.line, item.column,
            concat("expected a new name, got ", name,
                   ", which is a variable of host code of ", known->cell));
}

void Workspace::set_launches(const Item& item, const std::string& cell) {
  current_.record_value(launches_, item.name);
  launches_[item.name] = {cell, item.statements};
}

// Drops a function that only launches, because a function of host code replaces
// it.
void Workspace::drop_launches(const std::string& name) {
  current_.record_value(launches_, name);
  launches_.erase(name);
}

std::vector<EntryPtr> Workspace::unseen(
    std::span<const EntryPtr> added, std::span<const CompileJob> jobs) const {
  std::set<EntryPtr> seen;
  std::set<std::string> defined;
  for (const CompileJob& job : jobs) {
    seen.insert(job.included.begin(), job.included.end());
    defined.insert(job.item.key);
  }
  std::vector<EntryPtr> found;
  for (const EntryPtr& entry : added) {
    // A definition checks its own declaration.
    if (!seen.contains(entry) && !defined.contains(entry->item.key) &&
        header_.find(entry->item.key) == entry)
      found.push_back(entry);
  }
  return found;
}

void Workspace::compile(std::vector<CompileJob>& jobs,
                        std::span<const EntryPtr> added, CellReport& report) {
  const std::vector<EntryPtr> unchecked = unseen(added, jobs);
  if (!unchecked.empty()) {
    const Source check = make_check(unchecked, report.cell, header_);
    report.log += compiler_.compile({&check, 1}).front().log;
  }
  for (const DefinitionPtr& definition : build(jobs, compiler_, report.log)) {
    linker_.forget(definition->symbol);
    definitions_.put(definition, current_);
  }
}

void Workspace::accept() {
  history_.push_back(std::move(current_));
  current_ = {};
  if (history_.size() > kUndoable) history_.pop_front();
  ++cells_;
}

void Workspace::roll_back() {
  current_.roll_back();
  instances_.clear();
}

bool Workspace::undo() {
  if (history_.empty()) return false;
  history_.back().roll_back();
  history_.pop_back();
  instances_.clear();
  --cells_;
  return true;
}

DefinitionPtr Workspace::kernel(std::string_view name) {
  if (name.find('<') != name.npos) return instance(std::string(name));
  return named(name, true);
}

DefinitionPtr Workspace::kernel(std::string_view name, const std::string& key) {
  const DefinitionPtr found = definitions_.find_key(key);
  return found == nullptr ? kernel(name) : linker_.fresh(found);
}

void Workspace::add_include_dir(const std::string& dir) {
  if (std::ranges::find(folders_, dir) == folders_.end())
    folders_.push_back(dir);
  compiler_.add_include_dir(dir);
  host_.add_include_dir(dir);
}

DefinitionPtr Workspace::function(std::string_view name) {
  return named(name, false);
}

DefinitionPtr Workspace::named(std::string_view name, bool wants_kernel) {
  const std::string_view wanted = wants_kernel ? "kernel" : "function";
  const DefinitionPtr found = definitions_.find_name(name);
  if (found == nullptr) fail_unknown(name, wanted);
  if (found->is_variable() || found->is_kernel() != wants_kernel)
    throw InvalidArgument(concat("session: expected the name of a ", wanted,
                                 ", got ", found->title()));
  return linker_.fresh(found);
}

DefinitionPtr Workspace::instance(const std::string& name) {
  if (name.find("::<lambda") != name.npos || name.find("'lambda") != name.npos)
    throw CompileError(
        concat("session: expected arguments whose types have names for ", name,
               ", got a lambda of host code, which NVRTC cannot see; write a "
               "struct with operator()"),
        "");
  DefinitionPtr& kept = instances_[name];
  if (kept == nullptr || !linker_.is_current(*kept))
    kept = build_instance(name, header_, compiler_);
  return kept;
}

DefinitionPtr Workspace::find_variable(std::string_view name) const {
  const DefinitionPtr found = definitions_.find_name(name);
  return found != nullptr && found->is_variable() ? found : nullptr;
}

const LaunchFunction* Workspace::find_launches(const std::string& name) const {
  const auto found = launches_.find(name);
  return found == launches_.end() ? nullptr : &found->second;
}

void Workspace::fail_unknown(std::string_view name,
                             std::string_view wanted) const {
  const std::size_t colon = name.rfind("::");
  const std::string_view plain =
      colon == name.npos ? name : name.substr(colon + 2);
  for (const EntryPtr& entry : header_.find_named(std::string(plain))) {
    const Item& item = entry->item;
    if (item.kind == ItemKind::Header && item.key.starts_with("v:"))
      throw InvalidArgument(
          concat("session: expected the name of a ", wanted, ", got ", name,
                 ", a constant of ", entry->cell,
                 ", which has no address; give its value to a variable"));
    if (entry->item.kind == ItemKind::Declaration)
      throw CompileError(
          concat("session: expected a definition of ", name,
                 "; it is declared in ", entry->cell, " and defined nowhere"),
          "");
  }
  std::string known;
  for (const std::string& each : names())
    known += (known.empty() ? "" : ", ") + each;
  throw InvalidArgument(concat("session: expected the name of a ", wanted, " (",
                               known.empty() ? "none yet" : known, "), got '",
                               name, "'"));
}

std::vector<std::string> Workspace::names() const {
  std::vector<std::string> found = host_.variable_names();
  for (const DefinitionPtr& definition : definitions_.all())
    found.push_back(definition->qualified_name());
  std::ranges::sort(found);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

}  // namespace gpuos::session
