#pragma once

#include <unistd.h>

#include <array>
#include <cstddef>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "arrays/deferred.h"
#include "arrays/result_arrays.h"
#include "gpuos/runtime.h"
#include "gpuos/ticket.h"
#include "module/pybind_objects.h"
#include "runtime/operator_object.h"
#include "runtime/waiting.h"

namespace gpuos::python {

/// Implements Python's gpuos.Runtime: a runtime, the names of its operators and
/// the foreign arrays that its pending tasks use.
///
/// Threads: every member is called with the GIL held. Calls that may wait, even
/// for a lock of the runtime, release it.
class RuntimeObject : public std::enable_shared_from_this<RuntimeObject> {
 public:
  explicit RuntimeObject(const RuntimeOptions& options);
  ~RuntimeObject();
  RuntimeObject(const RuntimeObject&) = delete;
  RuntimeObject& operator=(const RuntimeObject&) = delete;

  Runtime& core() const noexcept { return *core_; }
  bool is_cuda() const noexcept { return is_cuda_; }
  /// Returns "host", or a text such as "cuda:0".
  std::string device() const;

  /// Returns the operator of a name, an Operator or an Alias. The caller holds
  /// it, because another thread may undefine it when Python code runs.
  /// Throws: InvalidArgument, TypeError.
  OperatorPtr resolve(PyObject* op);
  OperatorPtr find(const std::string& name);
  /// Gives `op` its name and forgets the name's earlier meaning.
  void remember(const OperatorPtr& op);
  void forget(const std::string& name);

  /// Holds `objects`, which are moved from, until the ticket is done.
  void keep(const Ticket& ticket, std::span<pybind11::object> objects);
  /// Releases some objects of finished tasks, if there are many. Asking for a
  /// task causes its launch, so the newest are left alone.
  void drain() {
    if (kept_.size() > kKeptAtEase) drain_some(kDrainAtOnce);
  }

  /// Releases all objects of finished tasks. The caller has seen that a task is
  /// done.
  void drain_done() {
    if (!kept_.empty()) drain_some(kept_.size());
  }

  /// Returns the operations on arrays that the program has not read yet.
  DeferredOperations& deferred() noexcept { return deferred_; }
  /// Submits the deferred operations. This happens before anything else is
  /// submitted, which may overwrite their inputs, and before a result is read.
  void run_deferred() {
    if (!deferred_.is_empty()) [[unlikely]]
      deferred_.run();
  }

  /// Returns results that the program dropped, or null after close().
  ResultArrays* results() noexcept { return results_.get(); }

  /// Numbers the runtimes of the process from 1, in the order in which they
  /// were made.
  const std::size_t number;
  /// Names the process that made it. The runtime is of no use to children of a
  /// fork.
  const int process = ::getpid();
  /// True for the default runtime of the process. It is never closed, and a
  /// with-block leaves it open.
  bool is_shared = false;

  void wait(const Ticket& ticket, const Deadline& deadline);
  void synchronize(const Deadline& deadline);
  /// Waits for another thread and returns whether all tasks were done in time.
  /// Leaves deferred operations and failures to the program.
  bool wait_for_all(const Deadline& deadline);
  void compile(const Program& program, const Deadline& deadline);
  void wait_for_memory(const void* data, std::size_t bytes);
  void close();
  /// Ends while an exception leaves the block, without an error and without a
  /// long wait. With `is_interrupted` it drops the tasks that have not begun.
  void leave(bool is_interrupted);

  /// Visits the objects that pending tasks use, for the garbage collector. They
  /// may hold this runtime.
  template <typename Visit>
  int visit_kept(Visit visit) const {
    for (const Kept& kept : kept_) {
      for (const pybind11::object& object : kept.objects) {
        if (object.ptr() == nullptr) continue;
        if (const int result = visit(object.ptr())) return result;
      }
    }
    return 0;
  }
  /// Waits for the tasks, no longer than `watchdog`. Releases the objects of
  /// those that are done.
  void wait_and_let_go() noexcept;

  /// Releases the objects of finished tasks in every live runtime. This happens
  /// before the garbage collector runs. Objects that it cannot see may hold the
  /// runtime in turn, as an array's ticket or result does.
  static void drain_all() noexcept;
  /// Returns the runtimes that are not closed, the oldest first.
  static std::vector<std::shared_ptr<RuntimeObject>> live();
  /// Closes every live runtime and reports nothing, for interpreter exit.
  static void close_all() noexcept;

 private:
  static constexpr std::size_t kKeptTogether = 4;
  // This is no tuple, because a tuple for each task would keep the garbage
  // collector busy.
  struct Kept {
    Ticket ticket;
    std::array<pybind11::object, kKeptTogether> objects;
  };
  struct CachedName {
    pybind11::object name;
    OperatorPtr op;
  };
  static constexpr std::size_t kDrainAtOnce = 4;
  static constexpr std::size_t kKeptAtEase = 128;
  static constexpr std::size_t kCachedNames = 64;

  /// Throws: InvalidArgument if `op` belongs to another runtime.
  OperatorPtr own(OperatorObject& op) const;
  void drain_some(std::size_t most);
  void let_go() noexcept;
  bool is_done_or_failed(const Ticket& ticket) noexcept;

  std::unique_ptr<Runtime> core_;
  bool is_cuda_ = false;
  DeferredOperations deferred_{*core_};
  std::unordered_map<std::string, OperatorPtr> operators_;
  // The index is the address of the name's object, which an entry keeps alive.
  std::array<CachedName, kCachedNames> cached_names_;
  std::deque<Kept> kept_;
  std::unique_ptr<ResultArrays> results_ = std::make_unique<ResultArrays>();
};

extern PyTypeObject* runtime_type;

/// Implements Python's gpuos.Ticket. It is a plain C object, because every
/// submission makes one.
struct TicketObject {
  PyObject_HEAD Ticket ticket;
  PyObject* runtime;  // owned
};

extern PyTypeObject* ticket_type;

/// Returns a ticket. `runtime` is a gpuos.Runtime. Returns null with a pending
/// error if memory is out.
PyObject* make_ticket(const Ticket& ticket, PyObject* runtime) noexcept;

/// Throws: TypeError if `object` is no Ticket.
const Ticket& ticket_of(PyObject* object);

/// Implements Runtime.submit_many(). `args` are the operator and the columns,
/// and `names` are the names of the keyword arguments that follow.
Ticket submit_many(RuntimeObject& runtime, PyObject* const* args,
                   std::size_t count, PyObject* names);

}  // namespace gpuos::python
