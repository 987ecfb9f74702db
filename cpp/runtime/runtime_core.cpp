#include "runtime/runtime_core.h"

#include <algorithm>
#include <bit>

#include "base/concat.h"
#include "base/config.h"
#include "cuda/cuda_backend.h"
#include "gpuos/error.h"
#include "gpuos/interrupt.h"
#include "host/host_backend.h"
#include "jit/compile_pool.h"

namespace gpuos {
namespace {

// The time for a task of a whole operator when the process ends.
constexpr std::chrono::milliseconds kHurriedTask{500};

std::uint32_t next_runtime_id() {
  static std::atomic<std::uint32_t> last{0};
  return ++last;
}

template <typename T>
void check_range(const char* option, T value, T low, T high) {
  if (value < low || value > high)
    throw InvalidArgument(concat("Runtime: ", option, ": expected ", low,
                                 " to ", high, ", got ", value));
}

// A compilation takes NVRTC tens of milliseconds, and the host's compiler up to
// a second, on a processor that the workers could use.
program::PromotionPolicy policy_of(const RuntimeOptions& options,
                                   std::string_view backend) {
  const bool is_host = backend == "host";
  return {.calls = options.compile_programs_after.value_or(is_host ? 1000 : 32),
          .work = std::uint64_t{1} << (is_host ? 31 : 26)};
}

void log(const std::exception_ptr& failure) {
  try {
    if (failure) std::rethrow_exception(failure);
  } catch (const std::exception& error) {
    append_log(concat("close: ", error.what(), "\n"));
  }
}

}  // namespace

Deadline deadline_after(std::chrono::nanoseconds timeout) {
  const auto now = std::chrono::steady_clock::now();
  return timeout > Deadline::max() - now ? Deadline::max() : now + timeout;
}

RuntimeOptions RuntimeCore::checked(RuntimeOptions options) {
  check_range("queue_capacity", options.queue_capacity, 64u, 32768u);
  if (!std::has_single_bit(options.queue_capacity))
    throw InvalidArgument(
        concat("Runtime: queue_capacity: expected a power of two, got ",
               options.queue_capacity));
  check_range("versions", options.versions, 1u, 256u);
  check_range("threads_per_worker", options.threads_per_worker, 32u, 256u);
  if (options.threads_per_worker % 32 != 0)
    throw InvalidArgument(
        concat("Runtime: threads_per_worker: expected a multiple of 32, got ",
               options.threads_per_worker));
  const auto check_positive = [](const char* option, auto duration) {
    if (duration.count() <= 0)
      throw InvalidArgument(concat("Runtime: ", option,
                                   ": expected more than 0, got ",
                                   duration.count()));
  };
  check_positive("linger", options.linger);
  check_positive("lease", options.lease);
  check_positive("watchdog", options.watchdog);
  check_positive("submit_timeout", options.submit_timeout);
  check_positive("flush_after", options.flush_after);
  const bool is_of_environment =
      options.backend == "auto" && !config().backend.empty();
  if (is_of_environment) options.backend = config().backend;
  if (options.backend != "auto" && options.backend != "host" &&
      options.backend != "cuda")
    throw InvalidArgument(
        concat(is_of_environment ? "GPUOS_BACKEND" : "Runtime: backend",
               ": expected auto, cuda or host, got '", options.backend, "'"));
  return options;
}

std::unique_ptr<Backend> RuntimeCore::make_backend(
    const RuntimeOptions& options, QuickMutex& submit_mutex) {
  if (options.backend == "host")
    return make_host_backend(options, submit_mutex);
  try {
    return make_cuda_backend(options, submit_mutex);
  } catch (const BackendUnavailable& error) {
    if (options.backend == "cuda")
      throw BackendUnavailable(
          concat(error.what(), "; or use backend=\"host\""));
  }
  return make_host_backend(options, submit_mutex);
}

RuntimeCore::RuntimeCore(RuntimeOptions wanted)
    : options(checked(std::move(wanted))),
      backend(make_backend(options, submit_mutex)),
      submitter(*backend, submit_mutex, options, next_runtime_id()),
      slots(
          *backend, [this] { return submitter.heads(); },
          [this](const SlotTable::Marks& marks) {
            return wait_past(marks, deadline_after(options.submit_timeout));
          }),
      registry(
          *backend, slots,
          [this](const std::function<void()>& change) {
            submitter.exclusively(change);
          },
          options.versions),
      tiers(registry, policy_of(options, backend->traits().name),
            [this](std::function<void()> job) { post(std::move(job)); }),
      programs(*backend, submitter, tiers,
               [this](void* data) { deallocate_later(data, 0); }),
      expressions(programs),
      generation_(fork_generation()),
      id_(submitter.runtime_id()) {
  note_environment();  // what compiles in the background asks for it
  // If this is main()'s thread, compilations end before the process does.
  jit::CompilePool::instance();
  if (options.deterministic) programs.make_deterministic();
}

void RuntimeCore::post(std::function<void()> job) {
  jit::CompilePool::instance().post(
      [core = weak_from_this(), job = std::move(job)] {
        const auto runtime = core.lock();
        if (runtime != nullptr && !runtime->is_closed()) job();
      });
}

void RuntimeCore::refuse_process() {
  throw Error(
      "this runtime belongs to the parent process; make a new one after fork");
}

void RuntimeCore::check_open(const char* where) const {
  if (is_closed()) throw QueueClosed(concat(where, ": the runtime is closed"));
}

bool RuntimeCore::wait(const Ticket& ticket, Deadline deadline) {
  const bool is_done = wait_for(ticket, deadline);
  if (!is_done) return false;
  // It may have been the last task of an operator that was dropped.
  if (slots.has_dropped()) [[unlikely]] {
    submitter.advance();
    slots.collect();
  }
  if (registry.has_checked()) [[unlikely]]
    submitter.faults().check(ticket);
  return is_done;
}

bool RuntimeCore::wait_for(const Ticket& ticket, Deadline deadline) {
  if (ticket.runtime != id_)
    throw InvalidArgument(concat("wait: expected a ticket of runtime ", id_,
                                 ", got one of runtime ", ticket.runtime));
  const Ring& ring = *backend->traits().rings[ticket.ring];
  if (ticket.member == Ticket::kAllBefore) {
    std::vector<std::uint64_t> marks(backend->traits().rings.size());
    marks[ticket.ring] = ticket.end;
    if (!wait_past(marks, deadline)) return false;
    backend->check({ticket.ring, ticket.begin, nullptr});
    return true;
  }
  // A ticket of many batches: all but the last are full.
  for (std::uint64_t begin = ticket.begin; begin < ticket.end;
       begin += ring.max_batch()) {
    const BatchRef batch{ticket.ring, begin, nullptr};
    if (!ring.is_done(begin)) {
      submitter.ensure_running(batch);
      if (!submitter.wait(batch, ticket.end, deadline)) return false;
    }
    backend->check(batch);
  }
  return true;
}

bool RuntimeCore::wait_past(const std::vector<std::uint64_t>& marks,
                            Deadline deadline) {
  BatchRef oldest;
  while (!submitter.is_past(marks, &oldest)) {
    if (!submitter.wait(oldest, marks[oldest.ring], deadline)) return false;
  }
  return true;
}

void RuntimeCore::check_all() {
  backend->check_all();
  submitter.faults().check_untold();
}

bool RuntimeCore::wait_for_all(Deadline deadline) {
  submitter.flush(nullptr);
  if (!wait_past(submitter.heads(), deadline)) return false;
  backend->check_alive();
  return true;
}

bool RuntimeCore::synchronize(Deadline deadline) {
  if (!wait_for_all(deadline)) return false;
  check_all();
  slots.collect();
  reclaim();
  return true;
}

bool RuntimeCore::wait_for_memory(const void* data, std::size_t bytes,
                                  Deadline deadline) {
  if (bytes == 0) return true;
  const auto low = reinterpret_cast<std::uint64_t>(data);
  // It counts as a write, so that it conflicts with readers too.
  const Access access{low, low + bytes, true};
  for (;;) {
    std::uint64_t end = 0;
    const auto pending = submitter.pending(access, end);
    for (const BatchRef& batch : pending.view()) {
      if (!submitter.wait(batch, end, deadline)) return false;
    }
    if (!pending.overflow) break;
  }
  // Dropped tasks do not affect the memory of others.
  if (!backend->has_dropped()) backend->check_alive();
  return true;
}

void RuntimeCore::hurry() noexcept {
  hurries_.store(true);
  backend->limit_tasks(kHurriedTask);
}

void RuntimeCore::drop_pending() {
  if (is_closed() || submitter.is_past(submitter.heads(), nullptr)) return;
  backend->drop_pending();
}

void RuntimeCore::close() {
  if (closed_.exchange(true)) return;
  try {
    close_now();
  } catch (const std::exception& error) {
    if (hurries_.load()) append_log(concat("close: ", error.what(), "\n"));
    throw;
  }
}

void RuntimeCore::close_now() {
  tiers.close();
  std::exception_ptr failure;
  try {
    submitter.close();
  } catch (...) {
    // The last flush failed. Earlier launches still run.
    failure = std::current_exception();
  }
  bool is_interrupted = false;
  // It waits while tasks finish. The deadline is the watchdog's time without
  // any progress.
  try {
    const auto marks = submitter.heads();
    BatchRef oldest;
    Deadline deadline = deadline_after(options.watchdog);
    while (!submitter.is_past(marks, &oldest)) {
      const Deadline slice =
          std::min(deadline, deadline_after(Interrupt::kPeriod));
      if (submitter.wait(oldest, marks[oldest.ring], slice))
        deadline = deadline_after(options.watchdog);
      else if (slice == deadline)
        throw Timeout(concat("close: no task was finished in ",
                             options.watchdog.count(), " ms"));
      is_interrupted = is_interrupted || Interrupt::is_asked_for();
      if (is_interrupted && backend->drop_pending()) break;
    }
    if (!backend->has_dropped()) {
      slots.collect();
      check_all();
    }
  } catch (...) {
    if (!failure) failure = std::current_exception();
  }
  if (is_interrupted) {
    log(failure);
    failure = std::make_exception_ptr(
        Cancelled("close: interrupted; the runtime is closed"));
  }
  reclaim();
  try {
    backend->stop();
  } catch (...) {
    if (!failure) failure = std::current_exception();
  }
  if (failure) std::rethrow_exception(failure);
}

Stats RuntimeCore::stats() const {
  Stats stats;
  stats.backend = backend->traits().name;
  stats.threads_per_worker = options.threads_per_worker;
  stats.tasks_submitted = submitter.counts().tasks.load();
  stats.batches_submitted = submitter.counts().batches.load();
  stats.tasks_ordered = submitter.counts().ordered.load();
  stats.tasks_chained = submitter.counts().chained.load();
  stats.chains = submitter.counts().chains.load();
  stats.upgrades = upgrades.load();
  stats.programs = programs.programs();
  stats.programs_compiled = tiers.compiled();
  stats.programs_failed = tiers.failed();
  stats.programs_waiting = tiers.waiting();
  stats.allocations = allocations.load();
  stats.program_calls = programs.calls();
  for (Ring* ring : backend->traits().rings)
    stats.tasks_completed += ring->completed_tasks();
  backend->fill_stats(stats);
  return stats;
}

void* RuntimeCore::allocate(std::size_t bytes) {
  reclaim();
  // The other half is for operations that are deferred.
  const std::size_t most = options.pending_bytes / 2;
  while (wait_for_freed(most - std::min(most, bytes))) reclaim();
  for (;;) {
    try {
      return backend->allocate(bytes);
    } catch (const std::bad_alloc&) {
      // Pending tasks hold memory that becomes free when they are done.
      if (!wait_for_freed(0)) throw;
      reclaim();
    }
  }
}

bool RuntimeCore::wait_for_freed(std::size_t most) {
  const auto marks = freed_.oldest_beyond(most);
  if (!marks) return false;
  try {
    return wait_past(*marks, deadline_after(options.submit_timeout));
  } catch (const Error&) {
    return false;  // the runtime is dead, or a capture forbids to wait
  }
}

void RuntimeCore::deallocate_later(void* data, std::size_t bytes) noexcept {
  if (is_of_other_process()) return;
  try {
    freed_.add(data, bytes, submitter.heads());
  } catch (...) {  // NOLINT(bugprone-empty-catch)
    return;        // out of memory: the buffer stays until the process ends
  }
  reclaim();
}

void RuntimeCore::reclaim() noexcept {
  const auto ready = freed_.take([this](const FreedMemory::Marks& marks) {
    return submitter.is_past(marks, nullptr);
  });
  for (void* data : ready) backend->deallocate(data);
}

}  // namespace gpuos
