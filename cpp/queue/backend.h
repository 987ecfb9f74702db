#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/quick_mutex.h"
#include "device/fault.h"
#include "gpuos/operator.h"
#include "gpuos/options.h"
#include "gpuos/runtime.h"
#include "gpuos/stats.h"
#include "queue/chain_blocks.h"
#include "queue/hazards.h"
#include "queue/open_chains.h"
#include "queue/ring.h"
#include "queue/workers.h"

namespace gpuos {

/// The ring whose workers take positions one by one, as they are written.
inline constexpr std::uint32_t kChainRing = 0;

using Deadline = std::chrono::steady_clock::time_point;

/// Where a task goes: a ring, and for bursts the stream of the launch.
struct Route {
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};

  std::uint32_t ring = 0;
  void* stream = nullptr;
  // The begin of a flush that these tasks may join and whose descriptors no
  // worker has read.
  std::uint64_t flush = kNone;

  bool collects(const BatchRef& batch) const noexcept {
    return batch.begin == flush && batch.ring == ring;
  }
};

/// The batch that makes room in a ring when it is done.
inline BatchRef oldest_of(std::span<Ring* const> rings, std::uint32_t ring) {
  return {ring, rings[ring]->completed(), nullptr};
}

/// Places of a ring that were taken for the tasks of one submission.
struct Place {
  std::uint64_t first = 0;        // position of the first task
  std::uint64_t batch_begin = 0;  // of the batch that the tasks belong to
  std::uint32_t batch_size = 0;   // 0: not known yet, the launch will say it
  std::uint32_t member = 0;       // record of the chain at `first`
  bool is_alone = false;  // they are launched at once, and nothing with them
};

/// The wait before a task that depends on earlier batches may be queued.
struct Order {
  /// The caller must wait for this one first, without the submit lock.
  std::optional<BatchRef> wait_on_host;
  /// Batches of the task's own ring that its descriptor must name.
  std::array<std::uint64_t, HazardTable::kMaxConflicts> begins;
  std::size_t count = 0;
};

/// The properties of a backend, which never change.
struct Traits {
  std::string_view name;         // "host" or "cuda"
  std::span<Ring* const> rings;  // a Route's and a Ticket's `ring` is an index
  /// The chains of kChainRing that take members. Waits, flushes and tasks that
  /// come after them close them, and the backend closes old ones.
  OpenChains* chains = nullptr;
  ChainBlocks* chain_blocks = nullptr;
  program::Workers workers;          // that share a program's task
  std::uint64_t min_tile_elems = 0;  // a task of at most so many is one tile
  /// True if tiles are interleaved element by element, like the lanes of many
  /// workers. Otherwise they are consecutive ranges.
  bool interleaves_tiles = false;
  /// True if the compiler of whole operators is faster with less optimization.
  bool builds_drafts = false;
  /// True if whole operators may be device code that is compiled already.
  bool links_objects = false;
  /// Memory that the host writes and the workers read in place. It is empty if
  /// there is none. It begins at a cache line and lives as long as the backend.
  std::span<std::uint64_t> shared_words{};
};

/// The source of a checked operator.
struct CheckedSource {
  std::string prelude;  // is put before its first line
  std::string text;
};

/// A whole operator, ready to be built.
struct OperatorBuild {
  const OperatorDefinition& definition;
  std::uint32_t slot;
  bool is_draft = false;   // soon rather than well
  bool is_awaited = true;  // else the compiler leaves processors to others
  // A checked operator is compiled from this instead of the definition's
  // source.
  const CheckedSource* checked = nullptr;

  std::string_view prelude() const noexcept {
    return checked == nullptr ? std::string_view() : checked->prelude;
  }
  const std::string& source() const noexcept {
    return checked == nullptr ? definition.source : checked->text;
  }
};

/// Runs tasks. Both implementations obey one contract
/// (tests/cpp/runtime/runtime_contract_test.cpp).
///
/// Lifetime: the destructor stops the workers; it never throws.
class Backend {
 public:
  virtual ~Backend() = default;

  const Traits& traits() const noexcept { return traits_; }

  // ---- The path of a task. The submit lock is held, and nothing blocks.

  /// Returns the ring that a submission goes to. Throws: InvalidArgument for a
  /// stream that the backend cannot serve, TaskError if the backend is dead.
  virtual Route route(const Stream& stream) = 0;
  /// Returns the first of `accesses` whose memory workers cannot read and
  /// write. Null if they can reach all. May ask the driver.
  virtual const Access* find_unreachable(std::span<const Access>) {
    return nullptr;
  }
  /// Returns whether `tasks` tasks can be queued, room given, without a call of
  /// the driver and without a wait. `meets`: they must come after others.
  virtual bool can_queue_now(const Route&, std::uint32_t /*tasks*/,
                             std::span<const Access>, bool /*meets*/) {
    return true;
  }
  /// Says how tasks of `route` come after `earlier`. Launches or records events
  /// if that needs it.
  virtual Order order(const Route& route,
                      std::span<const BatchRef> earlier) = 0;
  /// Take places for `tasks` tasks (at most Ring::max_batch()). Empty: the
  /// ring is full.
  virtual std::optional<Place> reserve(const Route& route,
                                       std::uint32_t tasks) = 0;
  /// Returns whether the flush that was launched last still runs.
  virtual bool is_busy(const Route&) const { return false; }
  /// Blocks that a chain in the open flush of `route` may take.
  virtual std::uint32_t most_chain_blocks(const Route&) const { return 1; }
  /// The descriptors of `place` are written.
  virtual void publish(const Route& route, const Place& place,
                       std::uint32_t tasks) = 0;
  /// Whole-source tasks are at `place`. The watchdog looks after them.
  virtual void watch(const Route& route, const Place& place,
                     std::uint32_t tasks, const std::string& operator_name) = 0;
  /// Launches pending bursts of one stream, or of every stream if null.
  virtual void flush(const Stream* only) = 0;
  /// Makes sure that the batch will run without another call.
  virtual void ensure_running(const BatchRef& batch) = 0;

  /// Elements of one tile of a task with `elems` elements of `elem_bytes`.
  virtual std::uint64_t tile_elems(std::uint64_t elems,
                                   std::size_t elem_bytes) const noexcept = 0;

  // ---- Waiting. No lock is held.

  /// Passes time until a batch may have finished, but not beyond `deadline`.
  /// The host meanwhile runs tasks of the batch's ring at positions before
  /// `end`. `turn` counts the calls of one wait, from 0.
  virtual void pause(const BatchRef& batch, std::uint64_t end,
                     std::uint64_t turn, Deadline deadline) = 0;
  /// Throws: TaskError if the backend is dead.
  virtual void check_alive() = 0;
  /// Throws: TaskError if the batch failed or the backend is dead.
  virtual void check(const BatchRef& batch) = 0;
  /// Throws: TaskError if the backend is dead, or for a failure that no
  /// check() has reported.
  virtual void check_all() = 0;

  /// Returns whether submissions to the stream become part of a graph, which
  /// may run again at any time.
  virtual bool captures(const Stream&) { return false; }

  // ---- Operators. No lock is held.

  /// Builds and loads, all or none. Throws: CompileError, BackendUnavailable.
  virtual void load(std::span<const OperatorBuild> builds) = 0;
  /// Memory that tasks of checked operators write and the host reads: first one
  /// for each slot, then one for each place of the rings. There from the first
  /// load() of a checked operator on.
  virtual std::span<abi::Fault> faults() noexcept = 0;
  /// Returns whether a graph that was captured holds tasks of this slot.
  virtual bool is_captured(std::uint32_t) const noexcept { return false; }
  /// The slots are not used by any pending task any more.
  virtual void unload(std::span<const std::uint32_t> slots) noexcept = 0;

  // ---- Memory. No lock is held.

  virtual void* allocate(std::size_t bytes) = 0;
  virtual void deallocate(void* data) noexcept = 0;
  virtual void copy_to_device(void* to, const void* from,
                              std::size_t bytes) = 0;
  virtual void copy_to_host(void* to, const void* from, std::size_t bytes) = 0;

  virtual void fill_stats(Stats& stats) const = 0;
  /// From now on the watchdog gives a task no more than `limit`.
  virtual void limit_tasks(std::chrono::milliseconds limit) noexcept = 0;
  /// Drops the tasks that have not begun, and makes the backend dead. Returns
  /// false if it cannot. Then the tasks run.
  virtual bool drop_pending() { return false; }
  virtual bool has_dropped() const noexcept { return false; }
  /// Stops taking tasks and stops the workers. Everything pending was waited
  /// for, or the backend is dead. Throws errors that were not reported yet.
  virtual void stop() = 0;
  /// Returns whether stop() abandoned a thread that still uses this object and
  /// the submit lock. Then neither may ever be destroyed.
  virtual bool is_left_running() const noexcept { return false; }

 protected:
  Traits traits_;  // set by the constructor of the derived class
};

}  // namespace gpuos
