#include "program/calls/prepared_calls.h"

#include <algorithm>
#include <unordered_set>

#include "program/calls/call_checks.h"

namespace gpuos::program {

PreparedCalls::PreparedCalls(Backend& backend,
                             std::function<void(void*)> free_later,
                             std::function<void(const Tier&)> unload,
                             std::function<std::uint64_t()> compiled)
    : backend_(backend),
      free_later_(std::move(free_later)),
      unload_(std::move(unload)),
      compiled_(std::move(compiled)),
      has_lanes_(backend.traits().workers.lanes > 1),
      codes_(backend, free_later_),
      workers_(backend.traits().workers) {}

const Prepared* PreparedCalls::find(const std::shared_ptr<const Plan>& plan,
                                    const CallViews& views) {
  Entry* const entry = entry_of(plan.get());
  if (entry == nullptr) return nullptr;
  const std::int64_t glance = glance_at(views);
  for (const auto& known : entry->prepared) {
    if (known == nullptr || known->glance != glance || !known->fits(views))
      continue;
    check_addresses(*known, views);
    return known.get();
  }
  Prepared* const oldest = entry->prepared[entry->next].get();
  if (oldest == nullptr || !resize(views, workers_, *oldest)) return nullptr;
  entry->next = (entry->next + 1) % entry->prepared.size();
  return oldest;
}

PreparedCalls::Entry* PreparedCalls::entry_of(const Plan* plan) {
  if (newest_.first == plan && !newest_.second->plan.expired())
    return newest_.second;
  const auto at = entries_.find(plan);
  // Another one may have been at this address.
  if (at == entries_.end() || at->second.plan.expired()) return nullptr;
  newest_ = {plan, &at->second};
  return newest_.second;
}

PreparedCalls::Entry& PreparedCalls::known_entry_of(
    const std::shared_ptr<const Plan>& plan) {
  const auto at = entries_.find(plan.get());
  if (at != entries_.end() && !at->second.plan.expired()) return at->second;
  forget_gone();
  Entries made;
  Entry& entry = made[plan.get()];
  entry.plan = plan;
  for (const Pass& pass : plan->fused.passes)
    entry.codes.fused.push_back(codes_.code_for(
        pass, workers_.are_deterministic && pass.has_reduction));
  for (const Pass& pass : plan->split.passes)
    entry.codes.split.push_back(codes_.code_for(
        pass, workers_.are_deterministic && pass.has_reduction));
  const std::lock_guard lock(mutex_);
  return entries_.insert(made.extract(plan.get())).position->second;
}

void PreparedCalls::forget_gone() {
  std::vector<const Plan*> gone;
  for (const auto& [plan, entry] : entries_)
    if (entry.plan.expired()) gone.push_back(plan);
  // Destroyed at the end, when no lock is held: memory goes with them.
  std::vector<Entries::node_type> entries(gone.size());
  {
    const std::lock_guard lock(mutex_);
    newest_ = {};
    for (std::size_t i = 0; i < gone.size(); ++i)
      entries[i] = entries_.extract(gone[i]);
  }
  const std::uint64_t compiled = compiled_();
  if (!codes_.are_many(compiled)) return;
  std::unordered_set<const PassCode*> used;
  for (const auto& [plan, entry] : entries_) {
    used.insert(entry.codes.fused.begin(), entry.codes.fused.end());
    used.insert(entry.codes.split.begin(), entry.codes.split.end());
  }
  for (const auto& code : codes_.take_unused(used, compiled)) {
    if (code->tier->state.load() == Tier::State::Compiled) unload_(*code->tier);
  }
}

void PreparedCalls::prepare(const std::shared_ptr<const Plan>& plan,
                            const CallViews& views, Prepared& prepared) {
  check_arrays(*plan, views);
  const auto keep = [this](std::span<const std::uint64_t> table) {
    std::shared_ptr<void> memory(backend_.allocate(table.size_bytes()),
                                 free_later_);
    backend_.copy_to_device(memory.get(), table.data(), table.size_bytes());
    return memory;
  };
  program::prepare(*plan, entries_.find(plan.get())->second.codes, views,
                   workers_, keep, prepared);
}

PreparedCalls::Taken::Taken(PreparedCalls& calls,
                            const std::shared_ptr<const Plan>& plan,
                            const CallViews& views)
    : calls_(calls) {
  Entry& entry = calls.known_entry_of(plan);
  const auto fits = [&](const std::unique_ptr<Prepared>& known) {
    return known != nullptr && known->fits(views);
  };
  bool is_prepared = false;
  {
    const std::lock_guard lock(calls.mutex_);
    place_ = std::ranges::find_if(entry.prepared, fits);
    is_prepared = place_ != entry.prepared.end();
    if (is_prepared) {
      check_addresses(**place_, views);
    } else {
      place_ = &entry.prepared[entry.next];
      entry.next = (entry.next + 1) % entry.prepared.size();
    }
    prepared_ = std::move(*place_);
  }
  if (is_prepared) return;
  if (prepared_ == nullptr) prepared_ = std::make_unique<Prepared>();
  calls.prepare(plan, views, *prepared_);
}

PreparedCalls::Taken::~Taken() {
  const std::lock_guard lock(calls_.mutex_);
  *place_ = std::move(prepared_);
}

std::uint64_t PreparedCalls::Taken::use_text(const PreparedPass& pass,
                                             bool is_read_again) {
  Text& text = pass.code->text;
  if (PassCodes::wants_copy(text, is_read_again)) {
    Text copy = calls_.codes_.copy_of(text);
    const std::lock_guard lock(calls_.mutex_);
    text = std::move(copy);
  }
  text.is_used = true;
  return text.address;
}

std::vector<PassCode*> PreparedCalls::codes_of(
    const std::shared_ptr<const Plan>& plan) {
  const std::lock_guard changing(changes_);
  const PlanCode& codes = known_entry_of(plan).codes;
  std::vector<PassCode*> all = codes.fused;
  all.insert(all.end(), codes.split.begin(), codes.split.end());
  return all;
}

void PreparedCalls::make_deterministic() {
  const std::lock_guard changing(changes_);
  if (!has_lanes_ || workers_.are_deterministic) return;
  Entries before;  // destroyed when no lock is held
  const std::lock_guard lock(mutex_);
  workers_.are_deterministic = true;
  newest_ = {};
  entries_.swap(before);
}

std::uint64_t PreparedCalls::programs() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::uint64_t>(std::ranges::count_if(
      entries_,
      [](const auto& entry) { return !entry.second.plan.expired(); }));
}

}  // namespace gpuos::program
