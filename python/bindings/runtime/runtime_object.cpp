#include "runtime/runtime_object.h"

#include <pybind11/gil.h>

#include <algorithm>
#include <exception>
#include <new>
#include <utility>
#include <vector>

#include "convert/native.h"
#include "convert/reading.h"
#include "gpuos/error.h"
#include "module/own_lock.h"
#include "module/without_gil.h"
#include "runtime/waiting.h"

namespace py = pybind11;

namespace gpuos::python {
namespace {

std::vector<RuntimeObject*>& live_runtimes() {
  static auto* live = new std::vector<RuntimeObject*>;  // outlives every exit
  return *live;
}

std::size_t next_number() {
  static std::size_t last = 0;  // under the GIL, or its replacement
  return ++last;
}

/// Returns whether Ctrl-C ended the program. An interactive interpreter keeps
/// the last exception of an earlier input, so there this is false.
bool is_program_interrupted() {
  if (PySys_GetObject("ps1") != nullptr) return false;
  PyObject* last = PySys_GetObject("last_type");
  return last != nullptr &&
         PyErr_GivenExceptionMatches(last, PyExc_KeyboardInterrupt) != 0;
}

/// Closes `core`, and drops the tasks that have not begun if it can.
void close_interrupted(Runtime& core) {
  const WithoutGil no_gil;
  core.drop_pending();
  core.close();
}

}  // namespace

RuntimeObject::RuntimeObject(const RuntimeOptions& options)
    : number(next_number()), core_([&] {
        const WithoutGil no_gil;
        return std::make_unique<Runtime>(options);
      }()) {
  is_cuda_ = core_->backend() == "cuda";
  live_runtimes().push_back(this);
}

RuntimeObject::~RuntimeObject() {
  // The last owner may be an array that a foreign thread releases.
  py::gil_scoped_acquire gil;
  const WithLock lock;
  std::erase(live_runtimes(), this);
  try {
    const WithoutGil no_gil;
    core_->close();
  } catch (...) {  // NOLINT(bugprone-empty-catch)
    // close() is where errors are reported.
  }
  let_go();
  const WithoutGil no_gil;
  core_.reset();
}

std::string RuntimeObject::device() const {
  if (!is_cuda_) return "host";
  return "cuda:" + std::to_string(core_->options().device);
}

OperatorPtr RuntimeObject::resolve(PyObject* op) {
  if (Py_TYPE(op) == operator_type) return own(*native<OperatorObject>(op));
  if (Py_TYPE(op) == alias_type)
    return own(*native<AliasObject>(op)->as_operator);
  if (!PyUnicode_Check(op)) {
    throw py::type_error(
        "submit: expected an operator's name, an Operator or an Alias, got " +
        kind_shown(op));
  }
  constexpr unsigned kObjectAlignmentBits = 4;
  CachedName& cached = cached_names_[(reinterpret_cast<std::uintptr_t>(op) >>
                                      kObjectAlignmentBits) %
                                     kCachedNames];
  if (cached.name.ptr() != op) {
    OperatorPtr found = find(text_of(op, "operator"));
    // Releasing the other name may run code that calls this object.
    const CachedName other =
        std::exchange(cached, {py::reinterpret_borrow<py::object>(op), found});
    return found;
  }
  return cached.op;
}

OperatorPtr RuntimeObject::own(OperatorObject& op) const {
  if (op.owner == this) return op.shared_from_this();
  throw InvalidArgument(op.op.name() +
                        ": expected an operator of this runtime, got one of "
                        "another");
}

OperatorPtr RuntimeObject::find(const std::string& name) {
  if (const auto known = operators_.find(name); known != operators_.end())
    return known->second;
  Operator op;
  {
    const WithoutGil no_gil;
    op = core_->find(name);
  }
  OperatorDefinition definition;
  definition.name = name;
  if (name == "fill") definition.params.push_back({"value", DType::Float64});
  auto found =
      std::make_shared<OperatorObject>(this, op, std::move(definition));
  return operators_.emplace(name, std::move(found)).first->second;
}

void RuntimeObject::remember(const OperatorPtr& op) {
  forget(op->op.name());
  operators_[op->op.name()] = op;
}

void RuntimeObject::forget(const std::string& name) {
  operators_.erase(name);
  // Releasing the names may run code that calls this object.
  const auto names = std::exchange(cached_names_, {});
}

void RuntimeObject::keep(const Ticket& ticket, std::span<py::object> objects) {
  if (objects.size() <= kKeptTogether) {
    Kept& kept = kept_.emplace_back();
    kept.ticket = ticket;
    std::move(objects.begin(), objects.end(), kept.objects.begin());
    return;
  }
  py::tuple all(objects.size());
  for (std::size_t i = 0; i < objects.size(); ++i)
    all[i] = std::move(objects[i]);
  kept_.push_back({ticket, {std::move(all)}});
}

bool RuntimeObject::is_done_or_failed(const Ticket& ticket) noexcept {
  try {
    return core_->is_done(ticket);
  } catch (const TaskError&) {
    // A wait for the ticket reports it. A task that does not end still writes
    // to its arrays.
    return !core_->stats().is_dead;
  } catch (const QueueClosed&) {
    return !core_->has_dropped();  // a worker may still run the task
  } catch (...) {
    return true;  // in the child of a fork, which has no such tasks
  }
}

void RuntimeObject::drain_some(std::size_t most) {
  for (; most > 0 && !kept_.empty(); --most) {
    if (!is_done_or_failed(kept_.front().ticket)) return;
    // Releasing the objects may run code that calls this object.
    const Kept done = std::move(kept_.front());
    kept_.pop_front();
  }
}

void RuntimeObject::wait_and_let_go() noexcept {
  const WithLock lock;
  const auto deadline =
      std::chrono::steady_clock::now() + core_->options().watchdog;
  const auto is_over = [&](const Ticket& ticket) noexcept {
    try {
      const WithoutGil no_gil;
      return core_->wait(ticket, deadline - std::chrono::steady_clock::now());
    } catch (const TaskError&) {
      // The task failed, and no code is left that asks, or it does not end.
      return !core_->stats().is_dead;
    } catch (const QueueClosed&) {
      return !core_->has_dropped();
    } catch (...) {
      return true;  // in the child of a fork, which has no such tasks
    }
  };
  std::deque<Kept> all = std::exchange(kept_, {});
  for (Kept& kept : all) {
    if (!is_over(kept.ticket)) kept_.push_back(std::move(kept));
  }
}

void RuntimeObject::wait(const Ticket& ticket, const Deadline& deadline) {
  wait_in_slices("wait", deadline, [&](std::chrono::nanoseconds slice) {
    return core_->wait(ticket, slice);
  });
  drain_some(kept_.size());
}

void RuntimeObject::synchronize(const Deadline& deadline) {
  run_deferred();
  wait_in_slices("synchronize", deadline, [&](std::chrono::nanoseconds slice) {
    return core_->synchronize(slice);
  });
  drain_some(kept_.size());
}

bool RuntimeObject::wait_for_all(const Deadline& deadline) {
  try {
    wait_in_slices("wait", deadline, [&](std::chrono::nanoseconds slice) {
      return core_->wait_for_all(slice);
    });
  } catch (const Timeout&) {
    return false;
  }
  return true;
}

void RuntimeObject::compile(const Program& program, const Deadline& deadline) {
  wait_in_slices("compile", deadline, [&](std::chrono::nanoseconds slice) {
    return core_->compile(program, slice);
  });
}

void RuntimeObject::wait_for_memory(const void* data, std::size_t bytes) {
  // Results from before close() can be read after it.
  if (bytes == 0 || (core_->is_closed() && !core_->has_dropped())) return;
  wait_in_slices("wait", Deadline::never(),
                 [&](std::chrono::nanoseconds slice) {
                   return core_->wait_for_memory(data, bytes, slice);
                 });
  drain_done();
}

void RuntimeObject::close() {
  if (core_->is_closed()) return;
  run_deferred();
  std::exception_ptr failure;
  try {
    // Unlike close(), Ctrl-C ends this wait. close() decides how long is too
    // long.
    synchronize(Deadline::after(core_->options().watchdog));
  } catch (const Timeout&) {  // NOLINT(bugprone-empty-catch)
  } catch (const Error&) {
    failure = std::current_exception();
  }
  try {
    interruptible([this] { core_->close(); });
  } catch (...) {
    let_go();
    throw;
  }
  let_go();
  if (failure != nullptr) std::rethrow_exception(failure);
}

void RuntimeObject::let_go() noexcept {
  try {
    auto kept = std::make_unique<std::deque<Kept>>(std::exchange(kept_, {}));
    // A task that does not end still writes to them.
    if (core_->stats().is_dead) static_cast<void>(kept.release());
  } catch (...) {  // NOLINT(bugprone-empty-catch)
    // The child of a fork has no such tasks.
  }
  // The runtime keeps no results while these are destroyed.
  std::exchange(results_, nullptr).reset();
}

void RuntimeObject::leave(bool is_interrupted) {
  if (core_->is_closed()) return;
  core_->hurry();
  try {
    if (!is_interrupted) return close();
    close_interrupted(*core_);
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch)
    // The caller must get the error that ends the block.
  }
  if (is_interrupted) let_go();
}

void RuntimeObject::drain_all() noexcept {
  const WithLock lock;
  try {
    // These references keep the runtimes, because a released object may be the
    // last holder of one.
    std::vector<std::shared_ptr<RuntimeObject>> all;
    for (RuntimeObject* live : live_runtimes())
      if (!live->kept_.empty()) all.push_back(live->weak_from_this().lock());
    for (const auto& live : all)
      if (live != nullptr) live->drain_some(live->kept_.size());
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch)
    // The next collection tries again.
  }
}

std::vector<std::shared_ptr<RuntimeObject>> RuntimeObject::live() {
  std::vector<std::shared_ptr<RuntimeObject>> all;
  for (RuntimeObject* live : live_runtimes()) {
    // A runtime without an owner is being destroyed, or is not complete yet.
    if (auto held = live->weak_from_this().lock();
        held != nullptr && !held->core_->is_closed())
      all.push_back(std::move(held));
  }
  return all;
}

void RuntimeObject::close_all() noexcept {
  const WithLock lock;
  std::vector<std::weak_ptr<RuntimeObject>> all;
  for (RuntimeObject* live : live_runtimes())
    all.push_back(live->weak_from_this());
  for (const auto& weak : all) {
    const auto live = weak.lock();
    if (live == nullptr || live->core_->is_closed()) continue;
    try {
      live->core_->hurry();
      if (is_program_interrupted())
        close_interrupted(*live->core_);
      else
        interruptible([&] { live->core_->close(); });
    } catch (...) {  // NOLINT(bugprone-empty-catch)
      // No caller is left to get an error.
    }
  }
}

}  // namespace gpuos::python
