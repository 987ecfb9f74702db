#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "gpuos/program.h"
#include "gpuos/runtime.h"
#include "program/calls/prepared.h"
#include "program/calls/prepared_calls.h"
#include "program/calls/scratch.h"
#include "program/calls/tiers.h"
#include "program/graph/plan.h"
#include "queue/backend.h"
#include "queue/call.h"
#include "queue/operator_record.h"
#include "queue/submitter.h"

namespace gpuos {

/// Calls of programs, as tasks.
///
/// Threads: any.
class ProgramTable {
 public:
  /// Frees memory after the tasks that were submitted until then.
  using FreeLater = std::function<void(void*)>;

  ProgramTable(Backend& backend, Submitter& submitter, program::Tiers& tiers,
               FreeLater free_later);
  ProgramTable(const ProgramTable&) = delete;
  ProgramTable& operator=(const ProgramTable&) = delete;

  using Allocate = std::function<Buffer(std::size_t)>;

  /// `allocate` returns memory that is freed after the tasks that use it.
  Ticket submit(const std::shared_ptr<const program::Plan>& plan,
                const program::CallViews& views,
                const std::span<const Scalar>& scalars, const Stream& stream,
                const Allocate& allocate);

  /// Submits if it need not wait and the call is prepared. Returns false if
  /// nothing was queued. submit() must do it then.
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

  /// Makes a GPU combine the columns of rows in one order from now on. Programs
  /// are prepared again.
  void make_deterministic() { prepared_.make_deterministic(); }

  std::uint64_t calls() const noexcept {
    return ready_calls_.load() + calls_.load();
  }
  /// Different ones that were called or compiled and still exist.
  std::uint64_t programs() const { return prepared_.programs(); }

 private:
  /// The weight of a task in the decision to compile its pass.
  struct Work {
    const std::shared_ptr<const program::Plan>* plan = nullptr;  // the caller's
    program::PassCode* code = nullptr;
    std::uint64_t elements = 0;  // of the pass, said by its last task
  };
  struct Task;
  struct ProgramCall;

  program::Load load() const noexcept {
    return prepared_.heeds_load() ? submitter_.load() : program::Load::Busy;
  }
  /// Writes the only task of a call that is prepared. False: it is not, it has
  /// others, or it needs memory.
  bool write_ready(const std::shared_ptr<const program::Plan>& plan,
                   const program::CallViews& views,
                   const std::span<const Scalar>& scalars, const Stream& stream,
                   Call& call, Work& work);
  /// Writes the single task of any call, which is prepared then. Returns false
  /// if it has other tasks, or if it needs memory.
  bool write_single(const std::shared_ptr<const program::Plan>& plan,
                    const program::CallViews& views,
                    std::span<const Scalar> scalars, const Stream& stream,
                    Call& call, Work& work);
  /// Writes all calls as one of many tasks. False: there is nothing to do.
  bool write_many(const std::shared_ptr<const program::Plan>& plan,
                  const ManyTasks& many, const Stream& stream, ManyCall& call,
                  Work& work);
  void write_tasks(ProgramCall& program_call);
  void add_task(program::PreparedCalls::Taken& prepared,
                const program::PreparedPass& pass,
                const program::TaskModel& model, ProgramCall& program_call);
  void take_memory(const program::Prepared& prepared,
                   ProgramCall& program_call);
  /// Returns the address of memory after counters that are 0.
  std::uint64_t take_block(std::size_t counters, std::size_t bytes,
                           ProgramCall& program_call);
  void add_gathered(const program::TaskModel& model, ProgramCall& program_call,
                    Call& call);
  // One writer at a time needs no exchange.
  static void add_one(std::atomic<std::uint64_t>& counter) noexcept {
    counter.store(counter.load(std::memory_order_relaxed) + 1,
                  std::memory_order_relaxed);
  }
  void count(const Work& work);
  Ticket submit_task(Task& task, const Stream& stream);
  /// Returns one ticket for both. Waits for `first` if no ticket can represent
  /// both.
  Ticket join(const Ticket& first, const Ticket& second);

  Backend& backend_;
  Submitter& submitter_;
  program::Tiers& tiers_;
  OperatorRecord any_;  // the name in errors of many tasks
  std::atomic<std::uint64_t> ready_calls_{0};  // written under lock()
  std::atomic<std::uint64_t> calls_{0};        // others, under changing()
  program::PreparedCalls prepared_;
  // Accessed under its changing().
  program::Scratch scratch_;
  std::vector<std::shared_ptr<void>> kept_;  // graphs read it
};

}  // namespace gpuos
