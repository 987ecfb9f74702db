#include "program/calls/tiers.h"

#include "base/concat.h"
#include "base/config.h"
#include "gpuos/error.h"
#include "program/passes/source.h"

namespace gpuos::program {
namespace {

OperatorDefinition definition_of(const Tier& tier, Effort effort) {
  OperatorDefinition definition;
  definition.name = kCompiledName;
  definition.source = source_of(tier.pass, effort, tier.is_ordered);
  return definition;
}

}  // namespace

Tiers::Tiers(OperatorRegistry& registry, const PromotionPolicy& policy,
             Post post)
    : registry_(registry), policy_(policy), post_(std::move(post)) {}

void Tiers::count_call(const std::shared_ptr<const Plan>& plan,
                       const std::shared_ptr<Tier>& tier,
                       std::uint64_t elements) {
  // Compiled programs are called most, and each count is an atomic operation.
  if (policy_.calls == 0 ||
      tier->state.load(std::memory_order_relaxed) != Tier::State::Interpreted)
    return;
  const std::uint64_t calls =
      tier->calls.fetch_add(1, std::memory_order_relaxed) + 1;
  const std::uint64_t more = elements * tier->pass.steps.size();
  const std::uint64_t work =
      tier->work.fetch_add(more, std::memory_order_relaxed) + more;
  if (calls >= policy_.calls || (calls >= 2 && work >= policy_.work))
    promote(plan, tier);
}

void Tiers::promote(const std::shared_ptr<const Plan>& plan,
                    const std::shared_ptr<Tier>& tier) {
  const std::lock_guard lock(mutex_);
  if (tier->wanted_by.expired()) tier->wanted_by = plan;
  auto state = Tier::State::Interpreted;
  if (is_closed_ ||
      !tier->state.compare_exchange_strong(state, Tier::State::Waiting))
    return;
  waiting_.push_back(tier);
  unfinished_.fetch_add(1);
  if (is_working_) return;
  is_working_ = true;
  post_([this] { work(); });
}

void Tiers::work() {
  for (;;) {
    std::shared_ptr<Tier> tier;
    {
      const std::lock_guard lock(mutex_);
      if (waiting_.empty()) {
        is_working_ = false;
        return;
      }
      tier = std::move(waiting_.front());
      waiting_.pop_front();
      if (tier->wanted_by.expired()) {
        // Another plan that has the pass asks again with its next call.
        tier->state.store(Tier::State::Interpreted);
        unfinished_.fetch_sub(1);
        changed_.notify_all();
        continue;
      }
    }
    compile(*tier);
  }
}

void Tiers::compile(Tier& tier) {
  auto state = Tier::State::Failed;
  for (const Effort effort : {Effort::Full, Effort::Careful}) {
    try {
      const bool is_there =
          registry_.upgrade(tier.record, definition_of(tier, effort),
                            tier.is_awaited.load(std::memory_order_relaxed));
      if (is_there) state = Tier::State::Compiled;
      break;
    } catch (const CompileError& error) {
      // It may need more registers or stack than a worker has.
      tier.error = error.what();
    } catch (const std::exception& error) {
      tier.error = error.what();
      break;
    }
  }
  finish(tier, state);
}

void Tiers::finish(Tier& tier, Tier::State state) {
  if (state == Tier::State::Compiled) {
    compiled_.fetch_add(1);
  } else {
    failed_.fetch_add(1);
    append_log(concat("program: stays interpreted: ", tier.error, "\n"));
  }
  const std::lock_guard lock(mutex_);
  tier.state.store(state);
  unfinished_.fetch_sub(1);
  changed_.notify_all();
}

bool Tiers::wait(const Tier& tier,
                 std::chrono::steady_clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  const auto is_over = [&] {
    const auto state = tier.state.load();
    return is_closed_ || state == Tier::State::Compiled ||
           state == Tier::State::Failed;
  };
  if (deadline == std::chrono::steady_clock::time_point::max())
    changed_.wait(lock, is_over);
  else
    changed_.wait_until(lock, deadline, is_over);
  if (tier.state.load() == Tier::State::Failed)
    throw CompileError(concat("compile: ", tier.error), tier.error);
  return tier.state.load() == Tier::State::Compiled;
}

void Tiers::close() {
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  for (const auto& tier : waiting_) tier->state.store(Tier::State::Interpreted);
  unfinished_.fetch_sub(waiting_.size());
  waiting_.clear();
  changed_.notify_all();
}

}  // namespace gpuos::program
