#pragma once

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpuos/error.h"
#include "gpuos/export.h"
#include "gpuos/operator.h"
#include "gpuos/options.h"
#include "gpuos/program.h"
#include "gpuos/scalar.h"
#include "gpuos/stats.h"
#include "gpuos/stream.h"
#include "gpuos/tensor_view.h"
#include "gpuos/ticket.h"

namespace gpuos {

struct RuntimeCore;

/// Is one argument of many tasks: an address for each, or a base and a step.
struct Column {
  const std::uint64_t* addresses = nullptr;  // one per task, or null
  std::uint64_t base = 0;                    // used when `addresses` is null
  std::int64_t step_bytes = 0;

  std::uint64_t at(std::size_t i) const noexcept {
    return addresses != nullptr
               ? addresses[i]
               : base + i * static_cast<std::uint64_t>(step_bytes);
  }
};

/// Describes many tasks of one operator that are independent of each other.
struct ManyTasks {
  std::size_t tasks = 0;
  DType dtype = DType::Float32;
  Column out;
  std::vector<Column> inputs;
  std::vector<Scalar> params;           // the same for all tasks
  const std::int64_t* sizes = nullptr;  // elements of each task, or null
  std::int64_t size = 0;                // used when `sizes` is null
};

/// Owns memory of the runtime's backend. It is freed when the last copy is gone
/// and the tasks submitted until then are done.
using Buffer = std::shared_ptr<void>;

/// Feeds tiny operations to workers and waits for them.
///
/// Order: tasks behave as if they ran one after another in submission order.
/// Threads: any thread may call every function, close() once.
/// Lifetime: the destructor closes without throwing. At process exit, and while
/// an exception leaves its scope, it hurries.
class GPUOS_API Runtime {
 public:
  /// Throws: InvalidArgument, BackendUnavailable, CudaError.
  explicit Runtime(RuntimeOptions options = {});
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  /// Queues one task. For an expression it queues the same as submit() of a
  /// program.
  /// Throws: InvalidArgument, QueueClosed, TaskError if the runtime is dead,
  /// Timeout if the queue stays full for `submit_timeout`.
  Ticket submit(const Operator& op, std::span<const TensorView> inputs,
                const TensorView& out, std::span<const Scalar> params = {},
                Stream stream = {});
  Ticket submit(std::string_view op, std::initializer_list<TensorView> inputs,
                const TensorView& out,
                std::initializer_list<Scalar> params = {});
  Ticket submit(const Operator& op, std::initializer_list<TensorView> inputs,
                const TensorView& out,
                std::initializer_list<Scalar> params = {});
  /// Queues like submit() if this needs no wait: the queue has space, no other
  /// thread submits, and no burst must be launched. Otherwise it returns empty
  /// and queues nothing, and the caller should call submit().
  /// Throws: as submit(), but never Timeout.
  std::optional<Ticket> try_submit(const Operator& op,
                                   std::span<const TensorView> inputs,
                                   const TensorView& out,
                                   std::span<const Scalar> params = {},
                                   Stream stream = {});

  /// Queues many independent tasks of one operator, or of an expression without
  /// reductions. They all run after earlier tasks that touch their memory. The
  /// memory of an argument is the range from its lowest to its highest address.
  /// With a named stream they are launched before this returns.
  Ticket submit_many(const Operator& op, const ManyTasks& many,
                     Stream stream = {});

  /// Queues a program as one task. It needs several if it reduces long rows, or
  /// if results or their parts differ in shape. Inputs and outputs may have any
  /// strides. An output may be the same buffer as an input, but may not
  /// overlap it otherwise.
  /// Throws: InvalidArgument if dtypes, ranks or shapes do not match the
  /// program; as submit().
  Ticket submit(const Program& program, std::span<const TensorView> inputs,
                std::span<const TensorView> outputs,
                std::span<const Scalar> scalars = {}, Stream stream = {});

  /// Compiles a program now, regardless of options(), and waits for it. Returns
  /// whether it was done in time. Concurrent calls are interpreted.
  /// Throws: CompileError, QueueClosed.
  bool compile(const Program& program, std::chrono::nanoseconds timeout);

  /// Launches pending bursts, in every stream or in the named one.
  void flush();
  void flush(Stream stream);

  /// Returns whether the ticket's tasks are done. Throws: TaskError.
  bool is_done(const Ticket& ticket);
  /// Waits. Returns whether it was done in time. Throws: TaskError.
  bool wait(const Ticket& ticket, std::chrono::nanoseconds timeout);
  /// Waits for all earlier submissions. Throws: TaskError.
  bool synchronize(std::chrono::nanoseconds timeout);
  /// Waits as synchronize() does and does not report failed tasks. Tickets and
  /// synchronize() still report them.
  /// Throws: TaskError if the runtime is dead.
  bool wait_for_all(std::chrono::nanoseconds timeout);
  /// Waits for the pending tasks that read or write these bytes. Returns
  /// whether they were done in time. Tickets report failed tasks, but this does
  /// not.
  /// Throws: TaskError if the runtime is dead.
  bool wait_for_memory(const void* data, std::size_t bytes,
                       std::chrono::nanoseconds timeout);

  /// Compiles, links, checks and loads a whole operator. An expression is only
  /// parsed and can be used at once. It is interpreted until it has enough
  /// calls.
  /// Throws: InvalidArgument (name taken, bad expression), CompileError,
  /// BackendUnavailable.
  Operator define(const OperatorDefinition& definition);
  /// Defines many operators, all or none. Several threads compile them as a few
  /// images.
  /// Throws: as define().
  std::vector<Operator> define_many(
      std::span<const OperatorDefinition> definitions);
  /// Gives `op`, which may be built in, a new body that takes the same
  /// arguments. It may add parameters with default values. Returns the version
  /// number. Tasks submitted before run the old body. After a failure the old
  /// one stays.
  /// Throws: as define(); InvalidArgument if its version is not `expected`.
  /// `expected` 0 allows any version.
  std::uint64_t replace(const Operator& op,
                        const OperatorDefinition& definition,
                        std::uint64_t expected = 0);
  /// Makes definitions and replacements visible together, or none of them.
  /// Returns the operators.
  /// Throws: as define() and replace().
  std::vector<Operator> change(std::span<const OperatorChange> changes);
  /// Makes version `to` of `op` current again and returns its new number. 0 is
  /// the version before the current one. Nothing is compiled.
  /// Throws: InvalidArgument if it is not loaded any more.
  std::uint64_t rollback(const Operator& op, std::uint64_t to = 0,
                         std::uint64_t expected = 0);
  /// Restores a built-in operator. Returns the number of its version.
  /// Throws: InvalidArgument.
  std::uint64_t restore(const Operator& op);
  /// Returns a built-in operator that replace() does not change.
  /// Throws: InvalidArgument.
  Operator builtin(std::string_view name) const;
  /// Removes `op`. Its code is unloaded when its last task is done.
  /// Throws: InvalidArgument if it is built in or an alias points to it.
  void undefine(const Operator& op);
  /// Makes a switchable name for `target`. Throws: InvalidArgument.
  Alias alias(std::string_view name, const Operator& target);
  /// Throws: InvalidArgument, whose message lists the existing names.
  Operator find(std::string_view name) const;
  std::vector<std::string> operator_names() const;

  /// Throws: CudaError, std::bad_alloc.
  Buffer allocate(std::size_t bytes);
  /// Copies wait for the pending tasks that they would race with, and return
  /// when they are done.
  /// Throws: QueueClosed, CudaError, TaskError if the runtime is dead.
  void copy_to_device(void* to, const void* from, std::size_t bytes);
  void copy_to_host(void* to, const void* from, std::size_t bytes);

  /// Runs pending tasks, stops the workers and reports errors.
  /// Throws: TaskError that no wait has reported, CudaError, Timeout if no task
  /// was finished for `watchdog`, Cancelled after drop_pending() if an
  /// Interrupt ended it.
  void close();
  /// Shortens close() at process exit, or for a scope that an exception leaves.
  /// From now on, a whole operator's task that runs for longer than 0.5 s makes
  /// the runtime dead. The task is abandoned with the memory that it writes.
  /// GPUOS_LOG receives the error of close().
  void hurry();
  /// Drops the tasks of the host backend that have not begun, before close() of
  /// an interrupted program. Waits for them throw QueueClosed. On a GPU they
  /// run.
  void drop_pending();
  /// Returns whether tasks were dropped.
  bool has_dropped() const noexcept;
  bool is_closed() const noexcept;

  /// Runs later submissions as RuntimeOptions::deterministic does. A closed
  /// runtime is allowed too.
  void make_deterministic();
  /// Returns whether a captured CUDA graph runs tasks of this runtime, which
  /// must then live as long as the graph.
  bool has_captured() const;

  const RuntimeOptions& options() const noexcept;
  /// "host" or "cuda".
  std::string_view backend() const noexcept;
  Stats stats() const;

 private:
  // Libraries above the runtime use RuntimeCore::of().
  friend struct RuntimeCore;
  /// Throws: Error in a child of the process that made the runtime.
  RuntimeCore& core() const;

  std::shared_ptr<RuntimeCore> core_;
  int exceptions_;  // uncaught ones when it was made
};

}  // namespace gpuos
