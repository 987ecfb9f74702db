#include "session/device/closure.h"

#include <algorithm>
#include <set>

#include "base/concat.h"
#include "gpuos/error.h"
#include "jit/linker.h"
#include "jit/symbols.h"

namespace gpuos::session {
namespace {

// Returns "f" of "m::f(int)".
std::string bare_name(const std::string& symbol) {
  std::string text = jit::demangled(symbol);
  text = text.substr(0, text.find('('));
  const std::size_t colon = text.rfind("::");
  return colon == text.npos ? text : text.substr(colon + 2);
}

// Returns pointers with the variables' names. They hold the addresses of the
// storage.
jit::Object pointers_to(std::span<const DefinitionPtr> variables) {
  std::string ptx = ".version 6.4\n.target sm_75\n.address_size 64\n";
  for (const DefinitionPtr& variable : variables) {
    const char* space = variable->item.is_constant ? ".const" : ".global";
    ptx += concat(".extern ", space, " .align 1 .b8 ", variable->storage_symbol,
                  "[", std::max<std::size_t>(variable->bytes, 1), "];\n");
    ptx += concat(".visible .global .align 8 .u64 ", variable->symbol,
                  " = generic(", variable->storage_symbol, ");\n");
  }
  return {.name = "pointers.ptx", .binary = std::move(ptx), .is_ptx = true};
}

}  // namespace

bool Linker::is_current(const Definition& definition) const {
  return std::ranges::all_of(definition.dependencies,
                             [&](const Dependency& dependency) {
                               return header_.is_current(dependency);
                             });
}

EntryPtr Linker::find_change(const Definition& definition) const {
  for (const Dependency& dependency : definition.dependencies) {
    if (!header_.is_current(dependency)) return header_.find(dependency.key);
  }
  return nullptr;
}

DefinitionPtr Linker::fresh(const DefinitionPtr& definition) {
  if (is_current(*definition)) return definition;
  const EntryPtr change = find_change(*definition);
  const std::string reason =
      change == nullptr
          ? "something that it used is gone"
          : concat(change->item.name, " was defined again in ", change->cell);
  if (definition->is_variable())
    throw CompileError(concat(definition->title(), ": ", reason,
                              "; define the variable again too"),
                       "");
  try {
    const CompileJob job =
        make_job(definition->item, definition->cell, header_);
    std::string log;
    DefinitionPtr again = build({&job, 1}, compiler_, log).front();
    definitions_.refresh(again);
    return again;
  } catch (const CompileError& error) {
    throw CompileError(concat(definition->title(), " was compiled again (",
                              reason, "): ", error.what()),
                       error.log(), error.place());
  }
}

bool Linker::is_ours(const std::string& symbol) const {
  const std::vector<EntryPtr> known = header_.find_named(bare_name(symbol));
  // The launch gives "extern __shared__ float x[];" its memory.
  if (std::ranges::any_of(known, [](const EntryPtr& entry) {
        return entry->item.text.find("__shared__") != std::string::npos &&
               entry->item.key.starts_with("v:");
      }))
    return false;
  // The driver defines some C functions, such as vprintf.
  return symbol.starts_with("_Z") || !known.empty();
}

void Linker::fail_missing(const std::string& symbol,
                          const Definition& user) const {
  std::string declared = "declared";
  for (const EntryPtr& entry : header_.find_named(bare_name(symbol)))
    declared = concat("declared in ", entry->cell);
  throw CompileError(concat("session: expected a definition of ",
                            jit::demangled(symbol), ", which ", user.title(),
                            " uses; it is ", declared, " and defined nowhere"),
                     "");
}

Closure Linker::close(std::span<const DefinitionPtr> roots) {
  Closure closure;
  std::vector<DefinitionPtr> open(roots.rbegin(), roots.rend());
  std::set<std::string> seen;
  for (const DefinitionPtr& root : roots) seen.insert(root->symbol);
  while (!open.empty()) {
    const DefinitionPtr next = std::move(open.back());
    open.pop_back();
    (next->is_variable() ? closure.variables : closure.functions)
        .push_back(next);
    if (next->is_variable()) continue;
    for (const std::string& symbol : next->undefined) {
      if (!seen.insert(symbol).second) continue;
      const DefinitionPtr found = definitions_.find_symbol(symbol);
      if (found != nullptr) {
        const bool is_new =
            found->symbol == symbol || seen.insert(found->symbol).second;
        if (is_new) open.push_back(fresh(found));
      } else if (is_ours(symbol)) {
        fail_missing(symbol, *next);
      }
    }
  }
  return closure;
}

std::string Linker::link_objects(std::span<const jit::Object> objects) {
  ++linked_;
  return jit::link_objects(compiler_.api(), objects, compiler_.target(), 0);
}

std::string Linker::link_storage(const Definition& variable) {
  return link_objects({&variable.object, 1});
}

void Linker::forget(const std::string& symbol) { links_.erase(symbol); }

bool Linker::is_current(const Linked& linked) const {
  const auto is_newest = [&](const DefinitionPtr& part) {
    return part == linked.root ||
           definitions_.find_symbol(part->symbol) == part;
  };
  const auto is_right = [&](const DefinitionPtr& part) {
    return is_newest(part) && is_current(*part);
  };
  return std::ranges::all_of(linked.closure.functions, is_right) &&
         std::ranges::all_of(linked.closure.variables, is_right);
}

std::shared_ptr<const Linked> Linker::link(const DefinitionPtr& root) {
  auto& kept = links_[root->symbol];
  if (kept != nullptr && kept->root == root && is_current(*kept)) return kept;
  auto linked = std::make_shared<Linked>();
  linked->root = root;
  linked->closure = close({&root, 1});
  std::vector<jit::Object> objects;
  for (const DefinitionPtr& part : linked->closure.functions)
    objects.push_back(part->object);
  for (const DefinitionPtr& part : linked->closure.variables)
    objects.push_back(part->pointer);
  linked->image = link_objects(objects);
  kept = linked;
  return linked;
}

std::string Linker::link_all() {
  std::vector<DefinitionPtr> roots = definitions_.all();
  for (DefinitionPtr& root : roots) root = fresh(root);
  std::ranges::sort(roots, {}, &Definition::symbol);
  const Closure closure = close(roots);
  std::vector<jit::Object> objects;
  for (const DefinitionPtr& part : closure.functions)
    objects.push_back(part->object);
  for (const DefinitionPtr& part : closure.variables)
    objects.push_back(part->object);
  if (!closure.variables.empty())
    objects.push_back(pointers_to(closure.variables));
  return link_objects(objects);
}

}  // namespace gpuos::session
