#pragma once

#include <unistd.h>

#include <array>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "deferred.h"
#include "gpuos/runtime.h"
#include "operator_object.h"
#include "pybind_objects.h"
#include "result_arrays.h"
#include "waiting.h"

namespace gpuos::python {

/// What Python calls gpuos.Runtime: a runtime, the names of its operators and
/// the foreign arrays that its pending tasks use.
///
/// Threads: every member is called with the GIL held; what may wait, be it for
/// a lock of the runtime, is done without it.
class RuntimeObject : public std::enable_shared_from_this<RuntimeObject> {
 public:
  explicit RuntimeObject(const RuntimeOptions& options);
  ~RuntimeObject();
  RuntimeObject(const RuntimeObject&) = delete;
  RuntimeObject& operator=(const RuntimeObject&) = delete;

  Runtime& core() const noexcept { return *core_; }
  bool is_cuda() const noexcept { return is_cuda_; }
  /// "host", or such as "cuda:0".
  std::string device() const;

  /// A name, an Operator or an Alias. Held by the caller, as another thread may
  /// undefine it as soon as Python code runs.
  /// Throws: InvalidArgument, TypeError.
  OperatorPtr resolve(PyObject* op);
  OperatorPtr find(const std::string& name);
  /// `op` now has its name; forgets what the name meant.
  void remember(const OperatorPtr& op);
  void forget(const std::string& name);

  /// Hold `objects`, which are moved from, until the ticket is done.
  void keep(const Ticket& ticket, std::span<pybind11::object> objects);
  /// Let go of some of what finished tasks used, if it is much: to ask for a
  /// task is to have it launched, so the newest are left alone.
  void drain() {
    if (kept_.size() > kKeptAtEase) drain_some(kDrainAtOnce);
  }

  /// Let go of all that finished tasks used: somebody has seen that one is.
  void drain_done() {
    if (!kept_.empty()) drain_some(kept_.size());
  }

  /// Operations on arrays that nobody has looked at.
  DeferredOperations& deferred() noexcept { return deferred_; }
  /// Submit them: before anything else is submitted, that may write what they
  /// read, and before anybody looks.
  void run_deferred() {
    if (!deferred_.is_empty()) [[unlikely]]
      deferred_.run();
  }

  /// Results that were dropped; null after close().
  ResultArrays* results() noexcept { return results_.get(); }

  /// This thread's `with transaction()` block. Until it ends, calls that change
  /// operators at once are refused here. Throws: InvalidArgument if it is in
  /// one.
  void begin_transaction();
  void end_transaction(std::thread::id of) noexcept;
  /// Throws: InvalidArgument within such a block.
  void check_no_transaction(const char* call) const;

  /// Among those of the process, from 1 in the order in which they were made.
  const std::size_t number;
  /// That made it: it is of no use to children of a fork.
  const int process = ::getpid();
  /// True for the default runtime of the process. It is never closed, and a
  /// with-block leaves it open.
  bool is_shared = false;

  void wait(const Ticket& ticket, const Deadline& deadline);
  void synchronize(const Deadline& deadline);
  /// Waits for another thread and returns whether they were done in time.
  /// Leaves deferred operations and failures to the program.
  bool wait_for_all(const Deadline& deadline);
  void compile(const Program& program, const Deadline& deadline);
  void wait_for_memory(const void* data, std::size_t bytes);
  void close();
  /// Ends while an exception leaves the block, without an error and without a
  /// long wait. `is_interrupted`: drops the tasks that have not begun.
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
  /// Wait for the tasks, no longer than `watchdog`, and let go of what those
  /// that are done used.
  void wait_and_let_go() noexcept;

  /// Every live runtime lets go of what finished tasks used. Before the garbage
  /// collector looks: what it cannot see may hold this in turn, as an array's
  /// ticket or result does.
  static void drain_all() noexcept;
  /// Returns the runtimes that are not closed, the oldest first.
  static std::vector<std::shared_ptr<RuntimeObject>> live();
  /// Closes every live runtime and reports nothing; for interpreter exit.
  static void close_all() noexcept;

 private:
  static constexpr std::size_t kKeptTogether = 4;
  // No tuple: making one for each task would keep the garbage collector busy.
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
  DeferredOperations deferred_{*this};
  std::unordered_map<std::string, OperatorPtr> operators_;
  // Found by the address of the name's object, which an entry keeps alive.
  std::array<CachedName, kCachedNames> cached_names_;
  std::deque<Kept> kept_;
  std::vector<std::thread::id> in_transaction_;
  std::unique_ptr<ResultArrays> results_ = std::make_unique<ResultArrays>();
};

extern PyTypeObject* runtime_type;

}  // namespace gpuos::python
