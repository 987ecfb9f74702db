#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <vector>

#include "base/fork_guard.h"
#include "expression/expression_operators.h"
#include "operators/operator_registry.h"
#include "program/calls/program_table.h"
#include "program/calls/tiers.h"
#include "queue/backend.h"
#include "queue/submitter.h"
#include "runtime/freed_memory.h"

namespace gpuos {

/// The end of a wait of `timeout` from now. A very long one never ends.
Deadline deadline_after(std::chrono::nanoseconds timeout);

/// The state that a Runtime and its buffers share.
///
/// Lifetime: lives until the runtime and its last buffer are gone.
struct RuntimeCore : std::enable_shared_from_this<RuntimeCore> {
  explicit RuntimeCore(RuntimeOptions options);

  /// Returns the parts of a runtime, for the libraries that are built on it.
  /// Throws: Error in a child of the process that made the runtime.
  static RuntimeCore& of(const Runtime& runtime) { return runtime.core(); }

  bool is_of_other_process() const noexcept {
    return generation_ != fork_generation();
  }
  /// Throws: Error in a child of the process that made the runtime.
  void check_process() const {
    if (is_of_other_process()) refuse_process();
  }
  /// Throws: QueueClosed.
  void check_open(const char* where) const;
  bool is_closed() const noexcept { return closed_.load(); }

  bool wait(const Ticket& ticket, Deadline deadline);
  bool wait_for_all(Deadline deadline);
  bool synchronize(Deadline deadline);
  bool wait_for_memory(const void* data, std::size_t bytes, Deadline deadline);
  void hurry() noexcept;
  void drop_pending();
  void close();
  Stats stats() const;

  /// Frees `data` when the tasks that were submitted until now are done.
  void deallocate_later(void* data, std::size_t bytes) noexcept;
  /// Waits first while pending tasks use too much freed memory.
  /// Throws: std::bad_alloc if there is not enough memory, even after they are
  /// done.
  void* allocate(std::size_t bytes);
  /// Returns false if at most `most` freed bytes are pending, or the wait
  /// failed.
  bool wait_for_freed(std::size_t most);
  void reclaim() noexcept;

  const RuntimeOptions options;

 private:
  // Declared before members that free memory in their destructors.
  FreedMemory freed_;

 public:
  QuickMutex submit_mutex;
  std::unique_ptr<Backend> backend;
  Submitter submitter;
  SlotTable slots;
  OperatorRegistry registry;
  program::Tiers tiers;
  ProgramTable programs;
  ExpressionOperators expressions;
  std::atomic<std::uint64_t> upgrades{0};
  std::atomic<std::uint64_t> allocations{0};

 private:
  [[noreturn]] static void refuse_process();
  static RuntimeOptions checked(RuntimeOptions options);
  static std::unique_ptr<Backend> make_backend(const RuntimeOptions& options,
                                               QuickMutex& submit_mutex);
  void post(std::function<void()> job);
  void close_now();
  /// Throws: TaskError for an unreported failure.
  void check_all();
  bool wait_for(const Ticket& ticket, Deadline deadline);
  bool wait_past(const std::vector<std::uint64_t>& marks, Deadline deadline);

  const std::uint32_t generation_;
  const std::uint32_t id_;
  std::atomic<bool> closed_{false};
  std::atomic<bool> hurries_{false};
};

}  // namespace gpuos
