#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/quick_mutex.h"
#include "gpuos/program.h"
#include "gpuos/runtime.h"
#include "program/plan.h"
#include "program/prepared.h"
#include "program/scratch.h"
#include "program/text_memory.h"
#include "program/tiers.h"
#include "queue/backend.h"
#include "queue/call.h"
#include "queue/operator_record.h"
#include "queue/submitter.h"
#include "queue/workers.h"

namespace gpuos {

/// The programs that one runtime has been given, and how each of their passes
/// runs now.
///
/// Threads: any.
class ProgramTable {
 public:
  /// Frees memory behind the tasks that were submitted until then.
  using FreeLater = std::function<void(void*)>;

  ProgramTable(Backend& backend, Submitter& submitter, program::Tiers& tiers,
               FreeLater free_later);
  ProgramTable(const ProgramTable&) = delete;
  ProgramTable& operator=(const ProgramTable&) = delete;

  using Allocate = std::function<Buffer(std::size_t)>;

  /// `allocate` gives memory that is freed behind the tasks that use it.
  Ticket submit(const std::shared_ptr<const program::Plan>& plan,
                const program::CallViews& views,
                const std::span<const Scalar>& scalars, const Stream& stream,
                const Allocate& allocate);

  /// The same if that takes no wait. False: nothing was queued, and submit()
  /// must do it.
  bool try_submit(const std::shared_ptr<const program::Plan>& plan,
                  const program::CallViews& views,
                  const std::span<const Scalar>& scalars, const Stream& stream,
                  Ticket& ticket);
  /// Many calls of an elementwise program of one output and arrays of one
  /// dimension, which are independent of each other.
  Ticket submit_many(const std::shared_ptr<const program::Plan>& plan,
                     const ManyTasks& many, const Stream& stream);

  /// Writes the only task of such a call to `call`, to be submitted later.
  /// False: it has others or needs memory, and submit() must do it.
  bool write_call(const std::shared_ptr<const program::Plan>& plan,
                  std::span<const TensorView> inputs,
                  std::span<const TensorView> outputs,
                  std::span<const Scalar> scalars, const Stream& stream,
                  Call& call);

  /// Have every pass of the program compiled; false if that takes longer.
  /// Throws: CompileError.
  bool compile(const std::shared_ptr<const program::Plan>& plan,
               Deadline deadline);

  /// From now on a GPU puts the columns of rows together in one order; programs
  /// are prepared anew.
  void make_deterministic();

  std::uint64_t calls() const noexcept { return calls_.load(); }
  /// Different ones that were called or compiled and still exist.
  std::uint64_t programs() const;

 private:
  struct Entry {
    std::weak_ptr<const program::Plan> plan;
    program::PlanCode codes;
    // For the last shapes; null: there were not so many.
    std::array<std::unique_ptr<program::Prepared>, 6> prepared;
    std::size_t next = 0;
  };
  /// What a task counts for when its pass may be compiled.
  struct Work {
    const std::shared_ptr<const program::Plan>* plan = nullptr;  // the caller's
    program::PassCode* code = nullptr;
    std::uint64_t elements = 0;  // of the pass, said by its last task
  };
  struct Task;
  struct Submission;

  // Under mutex_.
  void count_call() noexcept {
    calls_.store(calls_.load(std::memory_order_relaxed) + 1,
                 std::memory_order_relaxed);
  }
  Entry& find(const std::shared_ptr<const program::Plan>& plan);
  program::PassCode* code_for(const program::Pass& pass);
  /// When there are twice as many codes as the last time: forgets those that no
  /// program has, and none has asked for since then. What is compiled stays.
  void forget_codes();
  const program::Prepared& prepare(
      const std::shared_ptr<const program::Plan>& plan,
      const program::CallViews& views);
  std::shared_ptr<void> keep(std::span<const std::uint64_t> table);
  void add_task(const program::PreparedPass& pass,
                const program::TaskModel& model, Submission& submission);
  /// Says in `call` where the pass' text is.
  void use_text(const program::PreparedPass& pass, const Stream& stream,
                Call& call, bool is_read_again = false);
  void take_memory(const program::Prepared& prepared, Submission& submission);
  /// The address of memory behind counters that are 0.
  std::uint64_t take_block(std::size_t counters, std::size_t bytes,
                           Submission& submission);
  void add_gathered(const program::TaskModel& model, Submission& submission,
                    Call& call);

  /// Writes the only task of a call. False: it has others or needs memory.
  bool write_single(const std::shared_ptr<const program::Plan>& plan,
                    const program::CallViews& views,
                    const std::span<const Scalar>& scalars,
                    const Stream& stream, Call& call, Work& work);
  /// Writes all calls as one of many tasks. False: there is nothing to do.
  bool write_many(const std::shared_ptr<const program::Plan>& plan,
                  const ManyTasks& many, const Stream& stream, ManyCall& call,
                  Work& work);
  void write_tasks(Submission& submission);
  void count(const Work& work);
  Ticket submit_task(Task& task, const Stream& stream);
  /// One ticket for both. Waits for `first` if no ticket can say both.
  Ticket join(const Ticket& first, const Ticket& second);

  Backend& backend_;
  Submitter& submitter_;
  program::Tiers& tiers_;
  program::Workers workers_;  // under mutex_
  const FreeLater free_later_;
  OperatorRecord any_;  // whom errors of many tasks name
  std::atomic<std::uint64_t> calls_{0};
  mutable QuickMutex mutex_;
  program::TextMemory texts_;
  program::Scratch scratch_;
  std::vector<std::shared_ptr<void>> kept_;  // graphs read it
  std::map<std::string, std::unique_ptr<program::PassCode>, std::less<>> codes_;
  static constexpr std::size_t kLeastCodes = 512;
  std::size_t forget_at_ = kLeastCodes;  // codes
  std::uint64_t turn_ = 0;               // of forget_codes()
  std::unordered_map<const program::Plan*, Entry> entries_;
  // The one that was found last; null: it may be gone.
  std::pair<const program::Plan*, Entry*> newest_{};
};

}  // namespace gpuos
