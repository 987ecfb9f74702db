#include "session/workspace.h"

#include <algorithm>

#include "base/concat.h"
#include "gpuos/error.h"
#include "session/clashes.h"

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

}  // namespace

CellReport Workspace::run(std::string_view text, std::string_view name) {
  CellReport report;
  report.cell = name.empty() ? concat("cell ", cells_ + 1) : std::string(name);
  const CellText cell{report.cell, std::string(text)};
  try {
    std::set<std::string> keys;
    std::vector<CompileJob> jobs;
    std::vector<EntryPtr> added;
    for (const Item& item : split_cell(cell))
      take(item, cell, keys, jobs, added, report);
    refuse_clashes(cell, added, header_, compiler_);
    compile(jobs, added, report);
  } catch (...) {
    roll_back();
    throw;
  }
  return report;
}

void Workspace::take(const Item& item, const CellText& cell,
                     std::set<std::string>& keys, std::vector<CompileJob>& jobs,
                     std::vector<EntryPtr>& added, CellReport& report) {
  if (item.kind == ItemKind::Launch || item.kind == ItemKind::Call) {
    report.statements.push_back(item);
    return;
  }
  const bool is_definition =
      item.kind != ItemKind::Declaration && item.kind != ItemKind::Directive;
  if (is_definition && !item.key.empty() && !keys.insert(item.key).second)
    fail_at(cell, item.line, item.column,
            concat("expected one definition of ", item.name,
                   " in a cell, found a second"));
  if (!item.name.empty())
    report.defined.push_back(
        concat(kind_of(item), " ", qualifier_of(item.scopes), item.name));
  if (item.kind == ItemKind::Launches) {
    set_launches(item, report.cell);
    return;
  }
  if (item.kind == ItemKind::Header) definitions_.erase(item, current_);
  if (const EntryPtr entry = header_.put(item, report.cell, current_))
    added.push_back(entry);
  if (item.kind == ItemKind::Function || item.kind == ItemKind::Kernel ||
      item.kind == ItemKind::Variable)
    jobs.push_back(make_job(item, report.cell, header_));
}

void Workspace::set_launches(const Item& item, const std::string& cell) {
  const auto old = launches_.find(item.name);
  if (old == launches_.end()) {
    current_.record([this, name = item.name] { launches_.erase(name); });
  } else {
    current_.record([this, name = item.name, before = old->second] {
      launches_[name] = before;
    });
  }
  launches_[item.name] = {cell, item.statements};
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
    if (!seen.contains(entry) && !defined.contains(entry->item.key))
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
  std::vector<std::string> found;
  for (const DefinitionPtr& definition : definitions_.all())
    found.push_back(definition->qualified_name());
  std::ranges::sort(found);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

}  // namespace gpuos::session
