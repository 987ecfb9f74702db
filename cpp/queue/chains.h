#pragma once

#include <cstdint>

#include "queue/backend.h"
#include "queue/call.h"
#include "queue/chain_footprints.h"
#include "queue/dependency_tracker.h"
#include "queue/submit_counts.h"

namespace gpuos {

/// Decides which tasks follow others in one worker, as members of a chain.
///
/// Threads: the submit lock.
class Chains {
 public:
  /// The result for a task that might follow another one in its worker.
  enum class Followed : std::uint8_t {
    Yes,     // it is a member of a chain
    No,      // it cannot be one
    Blocked  // something must be done first
  };

  Chains(Backend& backend, DependencyTracker& dependencies,
         SubmitCounts& counts)
      : backend_(backend),
        traits_(backend.traits()),
        dependencies_(dependencies),
        counts_(counts) {}

  /// Returns whether a task of one descriptor may become a member of a chain,
  /// or the first one. Resident workers run a whole operator alone, because it
  /// may take long and they park only after a whole chain.
  static bool may_follow(const Call& call, const Route& route) {
    if (call.op->is_traced.load(std::memory_order_relaxed))
      return route.ring != kChainRing &&
             !call.op->is_checked.load(std::memory_order_relaxed);
    return route.ring != kChainRing || call.count <= kMostElems;
  }
  /// Puts a task that meets others and may_follow() into a chain with them, if
  /// it can be a member. Its position is then `place`.
  Followed follow(const Call& call, const HazardTable::Conflicts& conflicts,
                  const Route& route, Place& place, BatchRef& blocker);
  /// Adds a task that accesses only memory of one chain's members. Returns
  /// false if it accesses other memory, if the chain is closed, or if a whole
  /// operator needs care.
  bool follow_footprint(const Call& call, const Route& route, Ticket& ticket);

 private:
  /// Maximum number of elements of a member of an open chain. Workers park only
  /// after a whole chain, and larger tasks gain little by it.
  static constexpr std::uint64_t kMostElems = 8192;
  /// Initial maximum of records of a chain with whole operators. All tickets of
  /// a chain complete together, so long-running operators need short chains.
  /// The limit doubles when a chain is full while the device is idle.
  static constexpr std::uint32_t kFewTraced = 16;
  static constexpr std::uint32_t kMostTraced = abi::kChainRecords;

  /// Returns the record that the call takes in the chain at `position`. 0 means
  /// that the chain is closed or full.
  std::uint32_t add_to_open(const Call& call, std::uint64_t position);
  std::uint32_t add_to_flush(const Call& call, const Route& route,
                             const ChainFootprints::Footprint& footprint);
  /// Returns the record after `records` of a flush's chain for a member with
  /// `args` arguments. Returns 0 if the chain is full.
  std::uint32_t find_room(const Route& route, const BatchRef& flush,
                          abi::Member* block, std::uint32_t records,
                          std::uint32_t args);
  bool grow_chain(const Call& call, const HazardTable::Conflicts& conflicts,
                  Place& place);
  Followed open_chain(const Call& call, const HazardTable::Conflicts& conflicts,
                      const Route& route, Place& place, BatchRef& blocker);
  Followed follow_in_flush(const Call& call,
                           const HazardTable::Conflicts& conflicts,
                           const Route& route, Place& place, BatchRef& blocker);
  /// Records the memory of the member at `position`.
  void note(const Call& call, const BatchRef& batch, std::uint64_t position);
  void count_member() noexcept {
    SubmitCounts::add(counts_.ordered, 1);
    SubmitCounts::add(counts_.chained, 1);
  }

  Backend& backend_;
  const Traits& traits_;
  DependencyTracker& dependencies_;
  SubmitCounts& counts_;
  ChainFootprints footprints_;
  std::uint32_t most_traced_ = kFewTraced;
};

}  // namespace gpuos
