#include "operators/operator_registry.h"

#include <algorithm>
#include <array>
#include <deque>
#include <set>

#include "base/concat.h"
#include "device/task_abi.h"
#include "gpuos/error.h"
#include "operators/operator_definition.h"
#include "queue/operator_record.h"

namespace gpuos {
namespace {

struct Builtin {
  const char* name;
  int inputs;
  bool has_value;
};

constexpr Builtin kBuiltins[] = {
#define GPUOS_BUILTIN(name, inputs, scalars, ...) {#name, inputs, scalars != 0},
    GPUOS_BUILTIN_OPERATORS(GPUOS_BUILTIN)
#undef GPUOS_BUILTIN
};

/// Limits the slots of all versions that are not current.
constexpr std::size_t kMostOldSlots = 256;

void append(Slots& slots, const Slots& more) {
  slots.insert(slots.end(), more.begin(), more.end());
}

void check_version(const OperatorRecord& record, std::uint64_t expected,
                   const char* what) {
  const std::uint64_t current = record.versions->current().number;
  if (expected != 0 && expected != current)
    throw InvalidArgument(concat(what, ": ", record.name, ": expected version ",
                                 expected, ", it has become version ",
                                 current));
}

/// Refuses a checked version of an unchecked operator that takes any number of
/// inputs. The number of its arguments was never checked.
void check_checkable(const OperatorRecord& record, const OperatorRecord& next) {
  if (next.is_checked.load() && !record.is_checked.load() && record.inputs < 0)
    throw InvalidArgument(
        concat("replace: ", record.name,
               " takes any number of inputs and is not checked; define it with "
               "`checked` or a number of inputs"));
}

/// Checks the dtypes of scalars, because a call writes a built-in's scalars as
/// its buffers' dtype.
void check_scalars(const OperatorRecord& record,
                   const OperatorRegistry::Draft& draft) {
  if (!record.is_builtin || draft.record->has_body.load()) return;
  const DType dtype = dtype_of(draft.definition);
  for (const Parameter& param : draft.record->params)
    if (param.dtype != dtype)
      throw InvalidArgument(concat(
          "replace: ", record.name, ": expected ", param.name, " of ",
          name_of(dtype), ", as its buffers are, got ", name_of(param.dtype)));
}

/// Returns the argument with which define() makes it again. Returns null for a
/// session's code, which no other process has.
std::shared_ptr<const OperatorDefinition> definition_of(
    const OperatorRegistry::Draft& draft) {
  const OperatorDefinition& from = draft.definition;
  if (from.code != nullptr && !from.object) return nullptr;
  auto made = std::make_shared<OperatorDefinition>(from);
  if (from.object) {
    made->source.clear();  // this source only calls the object
    made->code = nullptr;
    made->checked.reset();
  }
  // An expression alone would order the inputs differently.
  if (draft.replaces != nullptr && made->input_names.empty()) {
    made->input_names = draft.replaces->input_names;
    if (!made->input_names.empty()) made->inputs = -1;
  }
  return made;
}

/// Throws the error with a hint. A checked operator's pointers are objects,
/// about which compilers write pages.
[[noreturn]] void rethrow_with_hint(const OperatorRegistry::Draft& draft,
                                    const CompileError& error) {
  const auto log_has = [&](const char* word) {
    return error.log().find(word) != std::string::npos;
  };
  if (!draft.is_checked ||
      !(log_has("Pointer") || log_has("conver") || log_has("cast")))
    throw;
  throw CompileError(
      concat(error.what(),
             "; in a checked operator task.pointer() gives an object: write "
             "&x[0] where a pointer is needed"),
      error.log(), error.place());
}

}  // namespace

OperatorRegistry::OperatorRegistry(Backend& backend, SlotTable& slots,
                                   Exclusively exclusively,
                                   std::size_t versions)
    : backend_(backend),
      slots_(slots),
      exclusively_(std::move(exclusively)),
      versions_(versions) {
  add_builtins();
}

void OperatorRegistry::add_builtins() {
  std::int32_t slot = 0;
  for (const Builtin& builtin : kBuiltins) {
    const auto code = std::make_shared<OperatorCode>();
    code->is_builtin = true;
    for (std::size_t dtype = 0; dtype < kBuiltinDTypes; ++dtype)
      code->slots[dtype] = slot++;
    // One record has the name. The other is for callers of builtin(), who mean
    // this code.
    for (Records* records : {&records_, &builtins_}) {
      auto record = std::make_shared<OperatorRecord>();
      record->owner = this;
      record->name = builtin.name;
      record->inputs = builtin.inputs;
      record->is_builtin = true;
      // A built-in's scalar has the dtype of its buffers (see submit()).
      if (builtin.has_value)
        record->params.push_back({"value", DType::Float64});
      for (std::size_t dtype = 0; dtype < kBuiltinDTypes; ++dtype)
        record->slots[dtype] = code->slots[dtype];
      code->params = record->params;
      record->versions = std::make_shared<OperatorHistory>(code);
      records->emplace(builtin.name, std::move(record));
    }
  }
}

// A thread that reads a body now needs the submit lock to queue its task. All
// bodies are therefore published before the thread can read another one.
template <typename Change>
void OperatorRegistry::exclusively(Change change) {
  exclusively_([&] {
    const std::lock_guard lock(mutex_);
    change();
  });
}

void OperatorRegistry::check_name_is_free(std::string_view name,
                                          std::string_view what) const {
  const auto found = records_.find(name);
  if (found == records_.end()) return;
  const OperatorRecord& known = *found->second;
  throw InvalidArgument(concat(
      what, ": expected a new name, got '", name, "', ",
      known.is_builtin   ? "which is built in; replace() gives it another body"
      : known.is_alias() ? "which is an alias; switch() gives it another "
                           "operator"
                         : "which is defined; replace() gives it another "
                           "body"));
}

Slots OperatorRegistry::take_slots(std::size_t count) {
  for (;;) {
    Slots slots = slots_.take(count);
    if (!slots.empty()) return slots;
    Slots unused;
    {
      const std::lock_guard lock(mutex_);
      unused = forget_most_kept();
    }
    if (unused.empty())
      throw Error(concat("define: expected ", count,
                         " free slots in the operator table, there are ",
                         slots_.free(), " of ", abi::kSlots));
    slots_.drop(std::move(unused));
  }
}

void OperatorRegistry::load_together(std::span<const Draft*> drafts) {
  std::vector<OperatorBuild> builds;
  std::deque<CheckedSource> checked;  // its elements stay where they are
  for (const Draft* draft : drafts) {
    builds.push_back({draft->definition, draft->slots[0], draft->is_draft,
                      draft->is_awaited});
    if (draft->is_checked)
      builds.back().checked =
          &checked.emplace_back(checked_source(draft->definition));
  }
  if (!checked.empty()) has_checked_.store(true, std::memory_order_relaxed);
  backend_.load(builds);
}

void OperatorRegistry::load(std::span<const Draft*> drafts) {
  if (drafts.empty()) return;
  try {
    load_together(drafts);
    return;
  } catch (const CompileError& error) {
    if (drafts.size() == 1) rethrow_with_hint(*drafts[0], error);
  }
  // Valid sources may not compile together, for example if both have a helper
  // function of one name. Compiled alone, each wrong source gives its own
  // error.
  std::size_t done = 0;
  try {
    for (; done < drafts.size(); ++done) load_together(drafts.subspan(done, 1));
  } catch (...) {
    for (const Draft* draft : drafts.first(done)) backend_.unload(draft->slots);
    throw;
  }
}

void OperatorRegistry::load_all(std::vector<Draft>& drafts) {
  std::vector<const Draft*> loaded;
  try {
    for (Draft& draft : drafts) {
      if (draft.record->has_body.load()) continue;
      draft.slots = take_slots(1);
      loaded.push_back(&draft);
    }
    load(loaded);
  } catch (...) {
    for (const Draft* draft : loaded) slots_.give_back(draft->slots);
    throw;
  }
}

void OperatorRegistry::apply(std::vector<Draft>& drafts) {
  std::set<std::string_view> names;
  for (Draft& draft : drafts) {
    const std::string& name = draft.record->name;
    if (!names.insert(name).second)
      throw InvalidArgument(concat("define: expected each operator once, got '",
                                   name,
                                   "' twice; give only the last text of it"));
    draft.record->owner = this;
    const std::lock_guard lock(mutex_);
    check(draft);
  }
  load_all(drafts);
  Slots unused;
  try {
    exclusively([&] {
      // Another thread may have changed the names meanwhile.
      for (const Draft& draft : drafts) check(draft);
      for (Draft& draft : drafts) append(unused, publish(draft));
    });
  } catch (...) {
    for (const Draft& draft : drafts) slots_.drop(draft.slots);
    throw;
  }
  slots_.drop(std::move(unused));
}

void OperatorRegistry::check_replaceable(const OperatorRecord& record,
                                         const char* what) {
  if (record.is_alias())
    throw InvalidArgument(concat(what, ": expected a defined operator, but ",
                                 record.name,
                                 " is an alias; switch() and "
                                 "rollback() of it change what it means"));
  if (record.base != nullptr)
    throw InvalidArgument(concat(what,
                                 ": expected an operator, got a result of ",
                                 "pinned() for ", record.name));
  if (!record.is_defined.load())
    throw InvalidArgument(concat(what, ": expected a defined operator, but ",
                                 record.name, " was undefined"));
}

void OperatorRegistry::check(const Draft& draft) const {
  if (draft.replaces == nullptr)
    return check_name_is_free(draft.record->name, "define");
  const OperatorRecord& record = *draft.replaces;
  check_replaceable(record, "replace");
  const std::string wrong = misfit(record, *draft.record);
  if (!wrong.empty())
    throw InvalidArgument(concat("replace: ", record.name, ": ", wrong,
                                 "; define a new operator"));
  check_checkable(record, *draft.record);
  check_scalars(record, draft);
  check_version(record, draft.expected, "replace");
}

Slots OperatorRegistry::publish(Draft& draft) {
  const OperatorDefinition& definition = draft.definition;
  const auto code = std::make_shared<OperatorCode>();
  code->body = draft.record->body.load();
  code->checked = draft.record->checked.load();
  code->params = draft.record->params;
  code->expression = definition.expression;
  code->definition = definition_of(draft);
  if (definition.object)
    code->symbol = definition.object->symbol;
  else
    code->source = definition.source;
  if (!draft.slots.empty())
    code->slots[static_cast<std::size_t>(dtype_of(definition))] =
        static_cast<std::int32_t>(draft.slots[0]);
  if (draft.replaces != nullptr) {
    OperatorRecord& record = *draft.replaces;
    code->variant = variant_of(draft.replaces, *draft.record);
    const std::size_t before = record.versions->old_slots();
    become(record, *code);
    draft.number = record.versions->replace(code);
    return trim(record, before);
  }
  OperatorRecord& record = *draft.record;
  code->variant = variant_of(draft.record, record);
  record.versions = std::make_shared<OperatorHistory>(code);
  become(record, *code);
  records_.emplace(record.name, draft.record);
  return {};
}

OperatorRegistry::Record OperatorRegistry::variant_of(
    const Record& name, const OperatorRecord& next) {
  const auto is_variant = [&](const OperatorRecord& record) {
    return has_same_parameters(record, next);
  };
  // pinned() fixes default values, but a name does not have fixed ones.
  if (!has_defaults(next.params) && is_variant(*name)) return nullptr;
  const auto known = std::ranges::find_if(
      name->variants,
      [&](const Record& record) { return is_variant(*record); });
  if (known != name->variants.end()) return *known;
  auto made = std::make_shared<OperatorRecord>();
  made->owner = name->owner;
  made->name = name->name;
  made->inputs = name->inputs;
  made->input_names = name->input_names;
  made->params = next.params;
  made->elementwise = name->elementwise;
  made->base = name.get();
  name->variants.push_back(made);
  return made;
}

// This happens before the version has its number. A caller that has read that
// number then submits no older version.
void OperatorRegistry::become(OperatorRecord& name, const OperatorCode& code) {
  OperatorRecord& before = name.resolved();
  OperatorRecord& record = code.variant == nullptr ? name : *code.variant;
  // A thread that finds the slot also finds these values.
  if (code.checked != nullptr) record.set_checked(code.checked);
  if (code.body == nullptr && !code.is_builtin) record.is_traced.store(true);
  // A thread that finds no slot finds the body.
  if (code.body != nullptr) record.set_body(code.body);
  for (std::size_t dtype = 0; dtype < kDTypeCount; ++dtype)
    record.slots[dtype].store(code.slots[dtype]);
  if (code.body == nullptr) record.set_body(nullptr);
  if (&before == &record) return;
  // This store pairs with the acquire load in OperatorRecord::resolved().
  name.target.store(code.variant.get(), std::memory_order_release);
  clear(before);
}

void OperatorRegistry::clear(OperatorRecord& record) {
  record.set_body(nullptr);
  for (auto& slot : record.slots) slot.store(OperatorRecord::kNoSlot);
}

std::uint64_t OperatorRegistry::rollback(const Record& record, std::uint64_t to,
                                         std::uint64_t expected) {
  std::uint64_t number = 0;
  Slots unused;
  exclusively([&] {
    check_replaceable(*record, "rollback");
    check_version(*record, expected, "rollback");
    OperatorHistory& versions = *record->versions;
    // This is a copy, because the history may forget the version.
    const OperatorHistory::Version back = versions.earlier(
        record->name, to != 0 ? to : versions.current().before);
    const std::size_t before = versions.old_slots();
    become(*record, *back.code);
    number = versions.take_back(back);
    unused = trim(*record, before);
  });
  slots_.drop(std::move(unused));
  return number;
}

std::uint64_t OperatorRegistry::restore(const Record& record) {
  if (!record->is_builtin)
    throw InvalidArgument(concat("restore: expected a built-in operator, but ",
                                 record->name,
                                 " is defined; rollback() takes "
                                 "its last replacement back"));
  std::uint64_t number = 0;
  Slots unused;
  exclusively([&] {
    OperatorHistory& versions = *record->versions;
    number = versions.current().number;
    if (versions.current().code->is_builtin) return;
    const auto& code =
        builtins_.find(record->name)->second->versions->current().code;
    const std::size_t before = versions.old_slots();
    become(*record, *code);
    number = versions.replace(code);
    unused = trim(*record, before);
  });
  slots_.drop(std::move(unused));
  return number;
}

Slots OperatorRegistry::trim(OperatorRecord& record, std::size_t before) {
  Slots unused = record.versions->keep(versions_);
  old_slots_ += record.versions->old_slots() - before;
  while (old_slots_ > kMostOldSlots) {
    const Slots more = forget_most_kept();
    if (more.empty()) break;
    append(unused, more);
  }
  return unused;
}

Slots OperatorRegistry::forget_most_kept() {
  OperatorRecord* most = nullptr;
  std::size_t slots = 0;
  for (const auto& [name, record] : records_) {
    if (record->versions == nullptr) continue;
    const std::size_t old = record->versions->old_slots();
    if (old > slots) {
      slots = old;
      most = record.get();
    }
  }
  Slots unused;
  while (most != nullptr && unused.empty())
    unused = most->versions->keep(most->versions->size() - 1);
  old_slots_ -= unused.size();
  return unused;
}

OperatorRegistry::Record OperatorRegistry::builtin(
    std::string_view name) const {
  const auto it = builtins_.find(name);
  if (it != builtins_.end()) return it->second;
  throw InvalidArgument(
      concat("expected a built-in operator, got '", name, "'"));
}

bool OperatorRegistry::upgrade(const Record& record,
                               const OperatorDefinition& definition,
                               bool is_awaited) {
  const auto dtype = static_cast<std::size_t>(dtype_of(definition));
  auto& slot = record->resolved().slots[dtype];
  std::int32_t before = slot.load();
  if (!record->is_defined.load() || before == OperatorRecord::kNoSlot)
    return false;
  const Draft draft{.definition = definition,
                    .record = nullptr,
                    .slots = take_slots(1),
                    .is_awaited = is_awaited,
                    .is_checked = record->is_checked.load()};
  try {
    std::array<const Draft*, 1> alone{&draft};
    load(alone);
  } catch (...) {
    slots_.give_back(draft.slots);
    throw;
  }
  bool is_same = false;
  {
    // The exchange fails if another thread replaced or undefined the operator
    // meanwhile.
    const std::lock_guard lock(mutex_);
    const auto after = static_cast<std::int32_t>(draft.slots[0]);
    is_same = slot.compare_exchange_strong(before, after);
    if (is_same && record->versions != nullptr)
      record->versions->set_slot(dtype, after);
  }
  if (!is_same)
    slots_.drop(draft.slots);
  else if (static_cast<std::uint32_t>(before) != kInterpreterSlot)
    slots_.drop({static_cast<std::uint32_t>(before)});
  return is_same;
}

void OperatorRegistry::undefine(const std::shared_ptr<OperatorRecord>& record) {
  if (record->is_builtin)
    throw InvalidArgument(concat("undefine: expected a defined operator, but ",
                                 record->name, " is built in"));
  Slots old;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [name, other] : records_) {
      if (other->target.load() == record.get())
        throw InvalidArgument(
            concat("undefine: expected an operator without aliases, but ", name,
                   " points at ", record->name));
    }
    const auto it = records_.find(record->name);
    if (it == records_.end() || it->second != record)
      throw InvalidArgument(
          concat("undefine: expected a defined operator, but ", record->name,
                 " is not defined"));
    if (record->is_alias()) record->end_alias();
    record->is_defined.store(false);
    clear(*record);
    for (const Record& variant : record->variants) {
      variant->is_defined.store(false);
      clear(*variant);
    }
    if (record->versions != nullptr) {
      old_slots_ -= record->versions->old_slots();
      old = record->versions->forget_all();
    }
    records_.erase(it);
  }
  slots_.drop(std::move(old));
}

void OperatorRegistry::retire(OperatorRecord& record) {
  record.is_defined.store(false);
  Slots old;
  for (auto& slot : record.slots) {
    const std::int32_t before = slot.exchange(OperatorRecord::kNoSlot);
    if (before != OperatorRecord::kNoSlot)
      old.push_back(static_cast<std::uint32_t>(before));
  }
  slots_.drop(std::move(old));
}

std::shared_ptr<OperatorRecord> OperatorRegistry::alias(
    std::string_view name, const std::shared_ptr<OperatorRecord>& target) {
  check_name(name);
  if (target == nullptr || !target->is_defined.load())
    throw InvalidArgument(
        concat("alias: ", name, ": expected a defined operator"));
  auto record = std::make_shared<OperatorRecord>();
  record->owner = this;
  record->name = name;
  record->history.push_back(target);
  record->target.store(target.get());
  const std::lock_guard lock(mutex_);
  check_name_is_free(name, "alias");
  records_.emplace(record->name, record);
  return record;
}

std::shared_ptr<OperatorRecord> OperatorRegistry::find(
    std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto it = records_.find(name);
  if (it != records_.end()) return it->second;
  std::string known;
  for (const auto& [other, record] : records_)
    known += (known.empty() ? "" : ", ") + other;
  throw InvalidArgument(
      concat("unknown operator '", name, "'; there are ", known));
}

std::vector<std::string> OperatorRegistry::names() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, record] : records_) names.push_back(name);
  return names;
}

}  // namespace gpuos
