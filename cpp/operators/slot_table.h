#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "queue/backend.h"

namespace gpuos {

using Slots = std::vector<std::uint32_t>;

/// Holds the places of the operator table. It knows which are free, and which
/// will be free after the tasks that use them.
///
/// Threads: any. No lock of its own is held while it waits or unloads.
class SlotTable {
 public:
  using Marks = std::vector<std::uint64_t>;  // one position a ring

  /// `heads` returns, under the submit lock, up to where tasks were submitted.
  /// `wait_past` waits until the tasks before some marks are done.
  SlotTable(Backend& backend, std::function<Marks()> heads,
            std::function<bool(const Marks&)> wait_past);

  /// Takes free slots, after it unloads dropped operators. Returns an empty
  /// list if there are fewer. Waits until the deadline of `wait_past`.
  Slots take(std::size_t count);
  std::size_t free() const;
  /// Drops loaded code that no later task can use.
  void drop(Slots slots);
  /// Returns slots that were taken and not used.
  void give_back(const Slots& slots);
  /// Unloads dropped code that no pending task uses.
  void collect() noexcept;
  /// Returns a guess.
  bool has_dropped() const noexcept {
    return has_dropped_.load(std::memory_order_relaxed);
  }

 private:
  struct Dropped {
    Slots slots;
    Marks marks;
  };

  /// Waits for the slots that were dropped first. Returns false if there are
  /// none.
  bool wait_for_slots();

  Backend& backend_;
  std::function<Marks()> heads_;
  std::function<bool(const Marks&)> wait_past_;
  mutable std::mutex mutex_;
  Slots free_;
  std::vector<Dropped> dropped_;
  std::atomic<bool> has_dropped_{false};  // written under mutex_
};

}  // namespace gpuos
