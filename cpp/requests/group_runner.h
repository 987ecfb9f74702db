#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <vector>

#include "gpuos/operator.h"
#include "gpuos/requests.h"
#include "gpuos/runtime.h"
#include "program/graph/plan.h"
#include "requests/alias_analysis.h"
#include "requests/fused_requests.h"
#include "requests/groups.h"
#include "requests/known_runs.h"
#include "requests/levels.h"

namespace gpuos::requests {

/// Requests that mean the same as a built-in operator, which is the cheapest
/// way to run one.
class BuiltinFastPath {
 public:
  explicit BuiltinFastPath(Runtime& runtime);

  /// Adds `request` to `calls` if it means a built-in operator. Returns false
  /// otherwise.
  /// Throws: as LevelCalls::add().
  bool add(const Request& request, LevelCalls& calls) const;

 private:
  /// Null: none.
  const Operator* find(const Request& request) const noexcept;

  Operator add_;
  Operator sub_;
  Operator mul_;
  Operator div_;
  Operator copy_;
  Operator fill_;
};

/// Submits groups: each as one operator or program, or as several where one
/// cannot carry all arguments.
class GroupRunner {
 public:
  explicit GroupRunner(Runtime& runtime)
      : builtins_(runtime), calls_(runtime) {}

  void begin(const RequestArrays& arrays, AliasAnalysis& aliases,
             const Groups& groups, const StillNeeded& needed,
             const Stream& stream);
  /// Runs groups that do not meet each other.
  void run(std::span<const Group* const> level);
  /// Runs all requests, if none meets another.
  void run_independent();
  /// Runs all requests as a known run of the same requests did.
  /// Throws: as Runtime::submit().
  void repeat(const KnownRun& known);
  /// Records the tasks of this run, for take_record().
  void record();
  /// Returns nothing if a request was refused.
  std::optional<KnownRun> take_record() noexcept;
  /// Ends the run. Throws: InvalidArgument of the first refused request. Only
  /// readers of its output did not run either.
  void finish();

  std::uint64_t tasks() const noexcept { return tasks_; }
  std::uint64_t unwritten() const noexcept { return unwritten_; }
  std::uint64_t programs() const noexcept { return programs_.built(); }

 private:
  /// A member of the group that is run.
  struct MemberUse {
    std::uint32_t request = 0;
    std::uint32_t last_use = 0;  // the last member that takes its value
    bool is_output = false;      // its memory must hold the value
    bool is_live = false;        // an output depends on it
  };

  /// Operations of one program: more make no difference, and each takes room.
  static constexpr std::size_t kMostSteps = 256;
  /// Values that are kept for later steps. The interpreter has room for 250
  /// words.
  static constexpr std::size_t kMostValues = 64;
  // A task whose arrays have gaps carries three less than a flat one.
  static constexpr std::size_t kMostArguments = program::kMaxPassArguments;

  /// Calls `add`, which adds calls that may run together, and submits them.
  /// `for_each` calls a function with each request, in case all fail.
  template <typename Add, typename ForEach>
  void run_together(const Add& add, const ForEach& for_each);
  void run(const Group& group);
  /// Calls `run`, which submits one request, unless an input was refused. Notes
  /// if this request is refused.
  template <typename Run>
  void attempt(std::uint32_t request, const Run& run);
  bool reads_refused(std::uint32_t request);
  /// Refuses the request for the current exception.
  void refuse(std::uint32_t request);
  void note_refused(std::uint32_t request, const std::exception_ptr& error);
  bool must_be_written(std::uint32_t request);
  bool is_needed(Owner& owner);
  void run_single(std::uint32_t request);
  /// Runs a request whose output must be written.
  void run_needed(std::uint32_t request);
  /// Runs a whole function as the program that it has.
  void run_whole(std::uint32_t request);
  /// Returns where the request writes.
  std::uint64_t address_of(std::uint32_t request);
  /// Returns the address of an operand that is an array.
  std::uint64_t address_of(std::uint32_t request, std::size_t place);
  void collect(const Group& group);
  void find_late(const Group& group);
  void run_fragments(const IterationSpace& space, std::size_t most_steps,
                     std::size_t first, std::size_t end);
  std::size_t fill(const IterationSpace& space, std::size_t most_steps,
                   std::size_t first, std::size_t end);
  void add_step(const IterationSpace& space, std::size_t first,
                std::size_t place);
  std::size_t count_ended(std::size_t first, std::size_t place) const;
  void add_outputs(const IterationSpace& space, std::size_t first,
                   std::size_t end);
  /// False: the program is too large.
  bool submit();
  void flush_calls();
  /// Adds a task to the record.
  KnownTask& note_task();
  void note_program(const Program& program);
  void add_arrays(std::span<const KnownTask::Array> arrays,
                  std::vector<TensorView>& views);
  TensorView view_of(const IterationSpace& space,
                     const ArrayElements& array) const;
  TensorView out_view(const IterationSpace& space, std::uint32_t request);
  /// The array at `place` of a function that is not elementwise.
  TensorView own_view(const Request& request, std::size_t place,
                      std::uint64_t address, DType dtype) const;

  BuiltinFastPath builtins_;
  LevelCalls calls_;
  ProgramCache programs_;
  const RequestArrays* arrays_ = nullptr;
  AliasAnalysis* aliases_ = nullptr;
  const Groups* groups_ = nullptr;
  StillNeeded needed_;
  std::vector<TensorView> inputs_;  // of a task that is not in fused_
  std::vector<TensorView> outputs_;
  std::vector<Scalar> numbers_;
  FusedRequests fused_;
  std::vector<bool> is_late_;    // requests that depend on results of rows
  std::vector<MemberUse> uses_;  // of the group
  std::vector<std::uint32_t> use_of_;    // of each request
  std::vector<std::uint16_t> value_of_;  // of each place in its program
  std::optional<KnownRun> record_;
  bool is_later_ = false;       // the next task of the record
  std::exception_ptr refused_;  // the first of this run, if any
  std::uint64_t tasks_ = 0;
  std::uint64_t unwritten_ = 0;
};

}  // namespace gpuos::requests
