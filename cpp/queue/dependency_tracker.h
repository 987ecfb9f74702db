#pragma once

#include <cstdint>
#include <span>

#include "queue/backend.h"
#include "queue/hazards.h"

namespace gpuos {

/// Finds the pending tasks that a new task must follow, and closes the chains
/// among them.
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
  /// Closes the chains among them, which later tasks wait for.
  void close_chains(const HazardTable::Conflicts& conflicts) {
    OpenChains& chains = *backend_.traits().chains;
    if (chains.is_empty()) return;
    for (const BatchRef& batch : conflicts.view()) {
      if (batch.ring == kChainRing) chains.close(batch.begin);
    }
  }

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
  Backend& backend_;
  const std::span<Ring* const> rings_;
  HazardTable pending_;
  HazardTable::Conflicts found_;
};

}  // namespace gpuos
