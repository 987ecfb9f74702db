#pragma once

#include <cstdint>
#include <span>

#include "queue/backend.h"
#include "queue/hazards.h"
#include "queue/submission.h"

namespace gpuos {

/// Finds the pending tasks that a new task must follow, and orders it after
/// them.
///
/// Threads: the submit lock.
class DependencyTracker {
 public:
  explicit DependencyTracker(Backend& backend)
      : backend_(backend), rings_(backend.traits().rings) {}

  /// Returns the batches that tasks with these `accesses` must come after. It
  /// is usually null, for none. The result is valid until the lock is released
  /// or this is called again.
  const HazardTable::Conflicts* find(std::span<const Access> accesses) {
    if (pending_.is_long()) prune();
    if (pending_.is_free(accesses)) return nullptr;
    pending_.find(accesses, rings_, found_);
    if (found_.met_done) prune();
    return found_.count == 0 ? nullptr : &found_;
  }
  /// Puts these batches before the tasks. False: `blocker` must be done first.
  bool put_in_order(const HazardTable::Conflicts& conflicts,
                    Submission& submission, BatchRef& blocker);
  /// Closes the chains among them, which later tasks wait for.
  void close_chains(const HazardTable::Conflicts& conflicts);

  /// Notes the memory that a batch accesses, see HazardTable::add().
  void add(std::span<const Access> accesses, const BatchRef& batch,
           std::uint64_t group, std::uint64_t position) {
    pending_.add(accesses, batch, group, position);
  }
  bool has_room(std::size_t accesses) const noexcept {
    return pending_.has_room(accesses);
  }
  const BatchRef& oldest() const { return pending_.oldest(); }
  void prune() { pending_.prune(rings_); }

 private:
  /// The batch that a task ordered so must name. False: no room for a join.
  bool join(const Order& order, Submission& submission);

  Backend& backend_;
  const std::span<Ring* const> rings_;
  HazardTable pending_;
  HazardTable::Conflicts found_;
};

}  // namespace gpuos
