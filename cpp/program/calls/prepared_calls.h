#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/quick_mutex.h"
#include "program/calls/pass_codes.h"
#include "program/calls/prepared.h"
#include "program/graph/plan.h"
#include "queue/backend.h"
#include "queue/workers.h"

namespace gpuos::program {

/// The programs of one runtime, and prepared data for the calls of each.
///
/// There are two locks. lock() is held while a task is written for a prepared
/// call, and never during a wait. A thread that must prepare a call, copy a
/// text or allocate memory may call the driver. It holds changing() for all of
/// it, and removes its entry from the table meanwhile (Taken). Another thread
/// with the same call sleeps until changing() is free, and no other thread
/// waits.
///
/// Threads: any.
class PreparedCalls {
 public:
  /// `free_later` frees memory after the tasks that use it. `unload` returns
  /// compiled code. `compiled` is the number of passes compiled so far.
  PreparedCalls(Backend& backend, std::function<void(void*)> free_later,
                std::function<void(const Tier&)> unload,
                std::function<std::uint64_t()> compiled);
  PreparedCalls(const PreparedCalls&) = delete;
  PreparedCalls& operator=(const PreparedCalls&) = delete;

  std::unique_lock<QuickMutex> lock() { return std::unique_lock(mutex_); }
  std::unique_lock<std::mutex> changing() { return std::unique_lock(changes_); }

  /// Returns the prepared data of this call, or null. lock() must be held, and
  /// the result is valid while it is. Throws: InvalidArgument, as
  /// check_addresses().
  const Prepared* find(const std::shared_ptr<const Plan>& plan,
                       const CallViews& views);

  /// Prepares one call, if needed, and holds the result. It holds changing()
  /// until the end. lock() is not held when it is made or destroyed.
  class Taken {
   public:
    /// Throws: InvalidArgument for arrays that are none of the program.
    Taken(PreparedCalls& calls, const std::shared_ptr<const Plan>& plan,
          const CallViews& views);
    ~Taken();
    Taken(const Taken&) = delete;
    Taken& operator=(const Taken&) = delete;

    const Prepared& operator*() const noexcept { return *prepared_; }
    const Prepared* operator->() const noexcept { return prepared_.get(); }
    /// Returns the address of a pass's text for its tasks. `is_read_again`: a
    /// copy pays off at once.
    std::uint64_t use_text(const PreparedPass& pass, bool is_read_again);

   private:
    PreparedCalls& calls_;
    std::unique_ptr<Prepared>* place_ = nullptr;  // its place in the entry
    std::unique_ptr<Prepared> prepared_;
  };

  std::vector<PassCode*> codes_of(const std::shared_ptr<const Plan>& plan);

  /// Makes a GPU combine the columns of rows in one order from now on. Programs
  /// are prepared again.
  void make_deterministic();

  /// Programs that were called or compiled and still exist.
  std::uint64_t programs() const;

  /// Returns whether the load of the workers says something about how tasks are
  /// cut.
  bool heeds_load() const noexcept { return has_lanes_; }

 private:
  struct Entry {
    std::weak_ptr<const Plan> plan;
    PlanCode codes;
    // The calls of the last shapes. A null place is unused or taken.
    std::array<std::unique_ptr<Prepared>, 6> prepared;
    std::size_t next = 0;  // the oldest
  };
  using Entries = std::unordered_map<const Plan*, Entry>;

  /// lock() is held. Null: the program is not known.
  Entry* entry_of(const Plan* plan);
  /// Returns the entry and adds it if it is new. changing() must be held,
  /// lock() must not.
  Entry& known_entry_of(const std::shared_ptr<const Plan>& plan);
  void forget_gone();
  void prepare(const std::shared_ptr<const Plan>& plan, const CallViews& views,
               Prepared& prepared);

  Backend& backend_;
  const std::function<void(void*)> free_later_;
  const std::function<void(const Tier&)> unload_;
  const std::function<std::uint64_t()> compiled_;
  const bool has_lanes_;
  std::mutex changes_;  // before mutex_
  PassCodes codes_;     // under changes_
  mutable QuickMutex mutex_;
  // These are changed under both locks, and read under one of them.
  Workers workers_;
  Entries entries_;
  // The entry that was found last, or null if it may be gone. Under mutex_.
  std::pair<const Plan*, Entry*> newest_{};
};

}  // namespace gpuos::program
