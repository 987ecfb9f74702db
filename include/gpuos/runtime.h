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
#include "gpuos/operator.h"
#include "gpuos/options.h"
#include "gpuos/program.h"
#include "gpuos/scalar.h"
#include "gpuos/stats.h"
#include "gpuos/stream.h"
#include "gpuos/tensor_view.h"
#include "gpuos/ticket.h"

namespace gpuos {

namespace requests {
class LevelCalls;
}
struct RuntimeCore;

/// One argument of many tasks: an address for each task, or a base address and
/// a step.
struct Column {
  const std::uint64_t* addresses = nullptr;  // one a task, or null
  std::uint64_t base = 0;                    // used when `addresses` is null
  std::int64_t step_bytes = 0;

  std::uint64_t at(std::size_t i) const noexcept {
    return addresses != nullptr
               ? addresses[i]
               : base + i * static_cast<std::uint64_t>(step_bytes);
  }
};

/// Many tasks of one operator, declared independent of each other.
struct ManyTasks {
  std::size_t tasks = 0;
  DType dtype = DType::Float32;
  Column out;
  std::vector<Column> inputs;
  std::vector<Scalar> params;           // the same for all tasks
  const std::int64_t* sizes = nullptr;  // elements of each task, or null
  std::int64_t size = 0;                // used when `sizes` is null
};

/// Memory of the runtime's backend. Freed when the last copy is gone and the
/// tasks submitted until then are done.
using Buffer = std::shared_ptr<void>;

/// Feeds tiny operations to workers and waits for them.
///
/// Order: tasks behave as if they ran one after the other in the order of
/// submission.
/// Threads: everything from any thread. close() once.
/// Lifetime: the destructor closes quietly and never throws; at the end of the
/// process and while an exception leaves its scope it hurries.
class Runtime {
 public:
  /// Throws: InvalidArgument, BackendUnavailable, CudaError.
  explicit Runtime(RuntimeOptions options = {});
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  /// Queue one task; of an expression what submit() of a program queues.
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
  /// submit() if that takes no wait: the queue has room, no other thread
  /// submits, and no burst must be launched. Empty: nothing was queued, and
  /// submit() will do it. Throws: as submit(), but never Timeout.
  std::optional<Ticket> try_submit(const Operator& op,
                                   std::span<const TensorView> inputs,
                                   const TensorView& out,
                                   std::span<const Scalar> params = {},
                                   Stream stream = {});

  /// Queue many tasks of one operator, or of an expression that reduces
  /// nothing, that are independent of each other. As a whole they run after
  /// earlier tasks whose memory meets theirs; the memory of an argument counts
  /// as one range from its lowest to its highest address. With a named stream
  /// they are launched before this returns.
  Ticket submit_many(const Operator& op, const ManyTasks& many,
                     Stream stream = {});

  /// Queue a program: as one task, unless a reduction over long rows needs
  /// more, or results or their parts differ in shape. Inputs and outputs may
  /// have any strides; an output may be the very buffer of an input, but not
  /// overlap one otherwise.
  /// Throws: InvalidArgument for other dtypes, ranks or shapes than the
  /// program's; as submit().
  Ticket submit(const Program& program, std::span<const TensorView> inputs,
                std::span<const TensorView> outputs,
                std::span<const Scalar> scalars = {}, Stream stream = {});

  /// Have a program compiled now, whatever options() say, and wait for it;
  /// return whether it was done in time. Calls meanwhile are interpreted.
  /// Throws: CompileError, QueueClosed.
  bool compile(const Program& program, std::chrono::nanoseconds timeout);

  /// Launch what waits for a burst, in every stream or in the one named.
  void flush();
  void flush(Stream stream);

  /// Whether the ticket's tasks are done. Throws: TaskError.
  bool is_done(const Ticket& ticket);
  /// Wait; return whether it was done in time. Throws: TaskError.
  bool wait(const Ticket& ticket, std::chrono::nanoseconds timeout);
  /// Wait for everything submitted so far. Throws: TaskError.
  bool synchronize(std::chrono::nanoseconds timeout);
  /// Waits as synchronize() does and does not report failed tasks. Tickets and
  /// synchronize() still report them. Throws: TaskError if the runtime is dead.
  bool wait_for_all(std::chrono::nanoseconds timeout);
  /// Wait for the pending tasks that read or write these bytes; return whether
  /// they were done in time. What failed is told by tickets, not here.
  /// Throws: TaskError if the runtime is dead.
  bool wait_for_memory(const void* data, std::size_t bytes,
                       std::chrono::nanoseconds timeout);

  /// Compile, link, check and load a whole operator. An expression is read and
  /// can be used at once; it is interpreted until it was called often.
  /// Throws: InvalidArgument (name taken, bad expression), CompileError,
  /// BackendUnavailable.
  Operator define(const OperatorDefinition& definition);
  /// Many operators in a few images that as many threads compile; all
  /// or nothing.
  /// Throws: as define().
  std::vector<Operator> define_many(
      std::span<const OperatorDefinition> definitions);
  /// Give `op`, which may be built in, a new body that takes the same
  /// arguments, and maybe others that have default values; returns the number
  /// of its version. Tasks submitted before run the old one; a failure leaves
  /// the old one working.
  /// Throws: as define(); InvalidArgument if its version is not `expected`,
  /// which may be 0 for any.
  std::uint64_t replace(const Operator& op,
                        const OperatorDefinition& definition,
                        std::uint64_t expected = 0);
  /// Definitions and replacements that become visible together, or not at all.
  /// Returns the operators. Throws: as define() and replace().
  std::vector<Operator> change(std::span<const OperatorChange> changes);
  /// Makes version `to` of `op` current again and returns its new number. 0 is
  /// the version before the current one. Nothing is compiled.
  /// Throws: InvalidArgument if it is not loaded any more.
  std::uint64_t rollback(const Operator& op, std::uint64_t to = 0,
                         std::uint64_t expected = 0);
  /// Make a built-in operator itself again; returns the number of its version.
  /// Throws: InvalidArgument.
  std::uint64_t restore(const Operator& op);
  /// A built-in operator that no replace() changes. Throws: InvalidArgument.
  Operator builtin(std::string_view name) const;
  /// Forget `op`; its code is unloaded when its last task is done.
  /// Throws: InvalidArgument if it is built in or an alias points at it.
  void undefine(const Operator& op);
  /// A name for `target` that can be switched. Throws: InvalidArgument.
  Alias alias(std::string_view name, const Operator& target);
  /// Throws: InvalidArgument with the names there are.
  Operator find(std::string_view name) const;
  std::vector<std::string> operator_names() const;

  /// Throws: CudaError, std::bad_alloc.
  Buffer allocate(std::size_t bytes);
  /// Copies wait for the pending tasks that they would race with, and return
  /// when they are done. Throws: QueueClosed, CudaError, TaskError if the
  /// runtime is dead.
  void copy_to_device(void* to, const void* from, std::size_t bytes);
  void copy_to_host(void* to, const void* from, std::size_t bytes);

  /// Run what is pending, stop the workers and report what went wrong.
  /// Throws: TaskError that no wait has told of, CudaError, Timeout if no task
  /// was finished for `watchdog`, Cancelled after drop_pending() if an
  /// Interrupt ended it.
  void close();
  /// For the end of a process or of a scope that an error leaves, before
  /// close(): from now on a whole operator's task that runs for longer than
  /// 0.5 s makes the runtime dead; it is left behind with the memory that it
  /// writes. GPUOS_LOG receives what close() throws.
  void hurry();
  /// For a program that is interrupted, before close(): the host backend drops
  /// the tasks that have not begun, and waits for them throw QueueClosed. On a
  /// GPU they run.
  void drop_pending();
  bool is_closed() const noexcept;

  /// Runs later submissions as RuntimeOptions::deterministic does. A closed
  /// runtime may be asked, too.
  void make_deterministic();
  /// Whether a CUDA graph was captured that runs tasks of this runtime, which
  /// must then live as long as the graph.
  bool has_captured() const;

  const RuntimeOptions& options() const noexcept;
  /// "host" or "cuda".
  std::string_view backend() const noexcept;
  Stats stats() const;

 private:
  // Queues what is known to be independent with less work.
  friend class requests::LevelCalls;
  /// Throws: Error in a child of the process that made the runtime.
  RuntimeCore& core() const;

  std::shared_ptr<RuntimeCore> core_;
  int exceptions_;  // that were on their way when it was made
};

}  // namespace gpuos
