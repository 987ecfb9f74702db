#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "operators/operator_registry.h"
#include "program/graph/plan.h"

namespace gpuos::program {

/// The code of one pass. It is interpreted at first, and compiled when that
/// pays.
struct Tier {
  enum class State : std::uint8_t { Interpreted, Waiting, Compiled, Failed };

  Pass pass;
  bool is_ordered = false;                 // as in source_of()
  std::shared_ptr<OperatorRecord> record;  // the operator of its tasks
  std::atomic<std::uint64_t> calls{0};
  std::atomic<std::uint64_t> work{0};  // elements times operations
  std::atomic<State> state{State::Interpreted};
  std::atomic<bool> is_awaited{false};  // a caller waits for it
  std::weak_ptr<const Plan> wanted_by;  // the first user; under Tiers' lock
  std::string error{};                  // Failed; written before `state`
};

/// The policy that decides when a pass is compiled.
struct PromotionPolicy {
  std::uint64_t calls = 0;  // 0: never
  std::uint64_t work = 0;   // sooner, from the second call on
};

/// Moves passes from the interpreter to compiled code, one at a time and in the
/// background.
///
/// Threads: any.
class Tiers {
 public:
  /// `post` runs a job on another thread unless the runtime is gone by then.
  using Post = std::function<void(std::function<void()>)>;

  Tiers(OperatorRegistry& registry, const PromotionPolicy& policy, Post post);

  /// Counts a submitted call of `plan`, as long as `tier` may be promoted.
  /// Waits at most for a mutex, and only when the pass is promoted. If the plan
  /// is gone at its turn, it is not compiled.
  void count_call(const std::shared_ptr<const Plan>& plan,
                  const std::shared_ptr<Tier>& tier, std::uint64_t elements);
  /// Compiles soon, independent of the policy. To be called before wait().
  void promote_awaited(const std::shared_ptr<const Plan>& plan,
                       const std::shared_ptr<Tier>& tier) {
    tier->is_awaited.store(true, std::memory_order_relaxed);
    promote(plan, tier);
  }
  /// False if that takes longer. Throws: CompileError if it failed.
  bool wait(const Tier& tier, std::chrono::steady_clock::time_point deadline);
  /// Unloads code that will not be called any more.
  void unload(const Tier& tier) { registry_.retire(*tier.record); }
  /// Drops the programs that wait to be compiled.
  void close();

  std::uint64_t compiled() const noexcept { return compiled_.load(); }
  std::uint64_t failed() const noexcept { return failed_.load(); }
  /// Promoted, and neither compiled nor failed so far.
  std::uint64_t waiting() const noexcept { return unfinished_.load(); }

 private:
  void promote(const std::shared_ptr<const Plan>& plan,
               const std::shared_ptr<Tier>& tier);
  void work();
  void compile(Tier& tier);
  void finish(Tier& tier, Tier::State state);

  OperatorRegistry& registry_;
  const PromotionPolicy policy_;
  const Post post_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Tier>> waiting_;  // under mutex_
  bool is_working_ = false;                    // under mutex_
  bool is_closed_ = false;                     // under mutex_
  std::atomic<std::uint64_t> compiled_{0};
  std::atomic<std::uint64_t> failed_{0};
  std::atomic<std::uint64_t> unfinished_{0};
};

}  // namespace gpuos::program
