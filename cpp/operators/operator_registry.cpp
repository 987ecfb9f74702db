#include "operators/operator_registry.h"

#include <algorithm>
#include <array>
#include <deque>
#include <set>

#include "base/concat.h"
#include "device/task_abi.h"
#include "gpuos/error.h"
#include "operators/checked_source.h"
#include "operators/operator_definition.h"

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

/// How many arguments there may be was not looked at while it was not checked.
void check_checkable(const OperatorRecord& record, const OperatorRecord& next) {
  if (next.is_checked.load() && !record.is_checked.load() && record.inputs < 0)
    throw InvalidArgument(
        concat("replace: ", record.name,
               " takes any number of inputs and is not checked; define it with "
               "`checked`, or say how many"));
}

/// A checked operator's pointers are objects, of which compilers write pages.
[[noreturn]] void rethrow_with_hint(const OperatorRegistry::Draft& draft,
                                    const CompileError& error) {
  const auto is_said = [&](const char* word) {
    return error.log().find(word) != std::string::npos;
  };
  if (!draft.is_checked ||
      !(is_said("Pointer") || is_said("conver") || is_said("cast")))
    throw;
  throw CompileError(
      concat(error.what(),
             "; in a checked operator task.pointer() gives an object: write "
             "&x[0] where a plain pointer must be"),
      error.log(), error.place());
}

}  // namespace

OperatorRegistry::OperatorRegistry(Backend& backend,
                                   std::function<Marks()> heads,
                                   std::function<bool(const Marks&)> wait_past)
    : backend_(backend),
      heads_(std::move(heads)),
      wait_past_(std::move(wait_past)) {
  add_builtins();
  for (std::uint32_t slot = abi::kSlots; slot-- > kInterpreterSlot + 1;)
    free_slots_.push_back(slot);
}

void OperatorRegistry::add_builtins() {
  std::int32_t slot = 0;
  for (const Builtin& builtin : kBuiltins) {
    auto record = std::make_shared<OperatorRecord>();
    record->owner = this;
    record->name = builtin.name;
    record->inputs = builtin.inputs;
    record->is_builtin = true;
    // The dtype of a built-in's scalar is that of its buffers; see submit().
    if (builtin.has_value) record->params.push_back({"value", DType::Float32});
    for (std::size_t dtype = 0; dtype < kBuiltinDTypes; ++dtype)
      record->slots[dtype] = slot++;
    records_.emplace(builtin.name, std::move(record));
  }
}

void OperatorRegistry::check_name_is_free(std::string_view name,
                                          std::string_view what) const {
  const auto found = records_.find(name);
  if (found == records_.end()) return;
  const OperatorRecord& known = *found->second;
  throw InvalidArgument(concat(
      what, ": expected a new name, got '", name, "', ",
      known.is_builtin   ? "which is built in and cannot be replaced"
      : known.is_alias() ? "which is an alias; switch() gives it another "
                           "operator"
                         : "which is defined; replace() gives it another "
                           "body"));
}

void OperatorRegistry::insert(const std::shared_ptr<OperatorRecord>& record) {
  const std::lock_guard lock(mutex_);
  check_name_is_free(record->name, record->is_alias() ? "alias" : "define");
  records_.emplace(record->name, record);
}

OperatorRegistry::Slots OperatorRegistry::take_slots(std::size_t count) {
  collect();
  std::unique_lock lock(mutex_);
  while (free_slots_.size() < count) {
    lock.unlock();
    const bool may_have_more = wait_for_slots();
    lock.lock();
    if (!may_have_more && free_slots_.size() < count)
      throw Error(concat("define: expected ", count,
                         " free slots in the operator table, there are ",
                         free_slots_.size(), " of ", abi::kSlots));
  }
  Slots slots(free_slots_.end() - static_cast<std::ptrdiff_t>(count),
              free_slots_.end());
  free_slots_.resize(free_slots_.size() - count);
  return slots;
}

bool OperatorRegistry::wait_for_slots() {
  Marks marks;
  {
    const std::lock_guard lock(mutex_);
    if (dropped_.empty()) return false;
    marks = dropped_.front().marks;
  }
  const bool has_more = wait_past_(marks);
  collect();
  return has_more;
}

void OperatorRegistry::drop(Slots slots) {
  if (slots.empty()) return;
  // Read after the record stopped naming the slots, under the submit lock: no
  // later task can use them.
  Marks marks = heads_();
  {
    const std::lock_guard lock(mutex_);
    dropped_.push_back({std::move(slots), std::move(marks)});
    chores_.fetch_or(kDropped, std::memory_order_relaxed);
  }
  collect();
}

void OperatorRegistry::collect() noexcept {
  std::vector<Dropped> unused;
  {
    const std::lock_guard lock(mutex_);
    const auto is_used = [&](const Dropped& dropped) {
      const auto rings = backend_.traits().rings;
      for (std::size_t i = 0; i < rings.size(); ++i) {
        if (rings[i]->completed() < dropped.marks[i]) return true;
      }
      return false;
    };
    const auto first =
        std::partition(dropped_.begin(), dropped_.end(), is_used);
    std::move(first, dropped_.end(), std::back_inserter(unused));
    dropped_.erase(first, dropped_.end());
    if (dropped_.empty())
      chores_.fetch_and(static_cast<std::uint8_t>(~kDropped),
                        std::memory_order_relaxed);
  }
  // A captured launch may run again at any time: its slots are never given to
  // others, nor is their code unloaded.
  std::erase_if(unused, [&](const Dropped& dropped) {
    return std::any_of(
        dropped.slots.begin(), dropped.slots.end(),
        [&](std::uint32_t slot) { return backend_.is_captured(slot); });
  });
  for (const Dropped& dropped : unused) backend_.unload(dropped.slots);
  const std::lock_guard lock(mutex_);
  for (const Dropped& dropped : unused)
    free_slots_.insert(free_slots_.end(), dropped.slots.begin(),
                       dropped.slots.end());
}

void OperatorRegistry::give_back(const Slots& slots) {
  const std::lock_guard lock(mutex_);
  free_slots_.insert(free_slots_.end(), slots.begin(), slots.end());
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
  if (!checked.empty()) {
    const std::lock_guard lock(mutex_);
    chores_.fetch_or(kChecked, std::memory_order_relaxed);
  }
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
  // Sources that are right alone may not go together: two helper functions of
  // one name. Alone each says what is wrong with it.
  std::size_t done = 0;
  try {
    for (; done < drafts.size(); ++done) load_together(drafts.subspan(done, 1));
  } catch (...) {
    for (const Draft* draft : drafts.first(done)) backend_.unload(draft->slots);
    throw;
  }
}

void OperatorRegistry::define(std::vector<Draft>& drafts) {
  std::set<std::string_view> names;
  std::vector<const Draft*> loaded;
  for (Draft& draft : drafts) {
    const std::string& name = draft.record->name;
    if (!names.insert(name).second)
      throw InvalidArgument(
          concat("define: expected different names, got '", name, "' twice"));
    const std::lock_guard lock(mutex_);
    check_name_is_free(name, "define");
    draft.record->owner = this;
  }
  try {
    for (Draft& draft : drafts) {
      if (draft.record->has_body.load()) continue;
      draft.slots = take_slots(1);
      loaded.push_back(&draft);
    }
    load(loaded);
  } catch (...) {
    for (const Draft* draft : loaded) give_back(draft->slots);
    throw;
  }
  insert_all(drafts);
}

void OperatorRegistry::insert_all(const std::vector<Draft>& drafts) {
  for (std::size_t i = 0; i < drafts.size(); ++i) {
    const auto& [definition, record, slots, is_draft, is_awaited, is_checked] =
        drafts[i];
    if (!slots.empty())
      record->slots[static_cast<std::size_t>(dtype_of(definition))].store(
          static_cast<std::int32_t>(slots[0]));
    try {
      insert(record);
    } catch (...) {
      // Somebody else took the name meanwhile.
      for (std::size_t k = i; k < drafts.size(); ++k) drop(drafts[k].slots);
      for (std::size_t k = 0; k < i; ++k) undefine(drafts[k].record);
      throw;
    }
  }
}

void OperatorRegistry::check_replaceable(const OperatorRecord& record) {
  if (record.is_builtin || record.is_alias())
    throw InvalidArgument(concat("replace: expected a defined operator, but ",
                                 record.name, " is ",
                                 record.is_alias() ? "an alias" : "built in"));
  if (!record.is_defined.load())
    throw InvalidArgument(concat("replace: expected a defined operator, but ",
                                 record.name, " was undefined"));
}

void OperatorRegistry::replace(const Record& record, Draft next) {
  if (!takes_the_same(*record, *next.record))
    throw InvalidArgument(
        concat("replace: expected the ", record->inputs, " inputs and ",
               record->params.size(), " scalars of ", record->name, ", got ",
               next.record->inputs, " and ", next.record->params.size(),
               " or others; define a new operator"));
  check_checkable(*record, *next.record);
  const std::shared_ptr<const expression::Body> body = next.record->body.load();
  if (body == nullptr) {
    next.slots = take_slots(1);
    try {
      std::array<const Draft*, 1> alone{&next};
      load(alone);
    } catch (...) {
      give_back(next.slots);
      throw;
    }
  }
  drop(become(*record, next, body));
}

OperatorRegistry::Slots OperatorRegistry::become(
    OperatorRecord& record, const Draft& next,
    const std::shared_ptr<const expression::Body>& body) {
  // Of two replacements at a time the later one is whole.
  const std::lock_guard lock(mutex_);
  if (!record.is_defined.load()) return next.slots;
  // Whoever finds the slot finds these.
  if (const auto checked = next.record->checked.load())
    record.set_checked(checked);
  if (body == nullptr)
    record.is_traced.store(true);
  else
    record.set_body(body);  // whoever finds no slot finds the body
  Slots old;
  for (std::size_t dtype = 0; dtype < kDTypeCount; ++dtype) {
    const bool is_new =
        !next.slots.empty() &&
        static_cast<std::size_t>(dtype_of(next.definition)) == dtype;
    const std::int32_t before = record.slots[dtype].exchange(
        is_new ? static_cast<std::int32_t>(next.slots[0])
               : OperatorRecord::kNoSlot);
    if (before != OperatorRecord::kNoSlot)
      old.push_back(static_cast<std::uint32_t>(before));
  }
  if (body == nullptr) record.set_body(nullptr);
  return old;
}

bool OperatorRegistry::upgrade(const Record& record,
                               const OperatorDefinition& definition,
                               bool is_awaited) {
  auto& slot = record->slots[static_cast<std::size_t>(dtype_of(definition))];
  std::int32_t before = slot.load();
  if (!record->is_defined.load() || before == OperatorRecord::kNoSlot)
    return false;
  const Draft draft{definition, nullptr,    take_slots(1),
                    false,      is_awaited, record->is_checked.load()};
  try {
    std::array<const Draft*, 1> alone{&draft};
    load(alone);
  } catch (...) {
    give_back(draft.slots);
    throw;
  }
  // Unless somebody replaced or undefined it meanwhile.
  const bool is_same = slot.compare_exchange_strong(
      before, static_cast<std::int32_t>(draft.slots[0]));
  if (!is_same)
    drop(draft.slots);
  else if (static_cast<std::uint32_t>(before) != kInterpreterSlot)
    drop({static_cast<std::uint32_t>(before)});
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
    record->is_defined.store(false);
    record->set_body(nullptr);
    old = take_slots_of(*record);
    records_.erase(it);
  }
  drop(std::move(old));
}

void OperatorRegistry::retire(OperatorRecord& record) {
  record.is_defined.store(false);
  drop(take_slots_of(record));
}

OperatorRegistry::Slots OperatorRegistry::take_slots_of(
    OperatorRecord& record) {
  Slots old;
  for (auto& slot : record.slots) {
    const std::int32_t before = slot.exchange(OperatorRecord::kNoSlot);
    if (before != OperatorRecord::kNoSlot)
      old.push_back(static_cast<std::uint32_t>(before));
  }
  return old;
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
  insert(record);
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
