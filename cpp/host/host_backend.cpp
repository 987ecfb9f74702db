#include "host/host_backend.h"

#include <sched.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <new>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/concat.h"
#include "base/cpu_relax.h"
#include "base/no_memory.h"
#include "base/processors.h"
#include "device/builtin_operators.h"
#include "device/operator.h"
#include "gpuos/error.h"
#include "host/host_compiler.h"
#include "program/interpreter/host_interpreter.h"
#include "queue/operator_record.h"

namespace gpuos::host {
namespace {

struct Builtin {
  std::string_view name;
  OpFn function;
};

#define GPUOS_DEFINE_DTYPE(suffix, type, name, inputs, expression)        \
  void name##_##suffix(Task task, Lane lane) {                            \
    run_builtin<type, inputs>(                                            \
        task, lane,                                                       \
        [=]([[maybe_unused]] const type* x,                               \
            [[maybe_unused]] type value) -> type { return expression; }); \
  }
#define GPUOS_DEFINE(name, inputs, scalars, ...) \
  GPUOS_BUILTIN_DTYPES(GPUOS_DEFINE_DTYPE, name, inputs, (__VA_ARGS__))
GPUOS_BUILTIN_OPERATORS(GPUOS_DEFINE)

#define GPUOS_ROW_DTYPE(suffix, type, name) {#name, name##_##suffix},
#define GPUOS_ROW(name, inputs, scalars, ...) \
  GPUOS_BUILTIN_DTYPES(GPUOS_ROW_DTYPE, name)
// The built-in operators in slot order: operator * 4 + dtype.
constexpr Builtin kBuiltins[] = {GPUOS_BUILTIN_OPERATORS(GPUOS_ROW)};

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kTileElems = 32768;
constexpr std::uint64_t kMaxTiles = 1024;
constexpr std::uint64_t kTileStep = 64;  // elements; tiles start on cache lines
constexpr std::uint64_t kPauseTurns = 32;  // before a waiter sleeps
constexpr int kPausesPerTurn = 8;
constexpr std::chrono::microseconds kLongPoll{100};
// A thread that yields and returns later than this shares the processor.
constexpr std::chrono::microseconds kCrowded{50};
constexpr std::size_t kAlignment = 64;
// Ticks with nothing to look after before the control thread sleeps.
constexpr std::uint32_t kQuietTicks = 16;
// From one of them to the next, in `flush_after`.
constexpr int kLongestPause = 8;
// A worker that is not stuck leaves within this.
constexpr std::chrono::milliseconds kGrace{1000};
// An operator is known to be stuck. A thread that does not leave soon keeps its
// memory.
constexpr std::chrono::milliseconds kDeadGrace{200};

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t value = line.find(": ");
    if (line.starts_with("model name") && value != std::string::npos)
      return line.substr(value + 2);
  }
  return "processor";
}

std::shared_ptr<Shared> make_shared_state(const RuntimeOptions& options,
                                          std::uint64_t first_position) {
  auto shared = std::make_shared<Shared>(
      options.queue_capacity, processors_for(options.workers, surroundings()),
      options.linger, first_position);
  std::uint32_t slot = 0;
  for (const Builtin& builtin : kBuiltins)
    shared->table.set(slot++,
                      {builtin.function, nullptr, std::string(builtin.name)});
  shared->table.set(kInterpreterSlot, {program::interpret, nullptr, "program"});
  return shared;
}

constexpr std::uint64_t rounded_up(std::uint64_t value, std::uint64_t step) {
  return (value + step - 1) / step * step;
}

}  // namespace

HostBackend::HostBackend(const RuntimeOptions& options,
                         QuickMutex& submit_mutex, std::uint64_t first_position)
    : options_(options),
      shared_(make_shared_state(options, first_position)),
      submit_mutex_(submit_mutex),
      ring_(&shared_->ring),
      chains_(
          *ring_, [this] { look_after_queue(); },
          [this] { publish_until(chains_.first(ring_->head()), true); }),
      chain_blocks_(shared_->chain_memory.get(), {&ring_, 1}),
      threads_(shared_) {
  traits_ = {
      .name = "host",
      .rings = {&ring_, 1},
      .chains = &chains_,
      .chain_blocks = &chain_blocks_,
      .workers = {.count = static_cast<std::uint32_t>(shared_->states.size())},
      .min_tile_elems = kTileElems};
}

HostBackend::~HostBackend() { stop_threads(); }

Route HostBackend::route(const Stream& stream) {
  if (is_dead()) throw_dead();
  if (stream.is_named)
    throw InvalidArgument(
        concat("submit: expected no stream on the host backend, got stream ",
               stream.handle));
  return {};
}

Order HostBackend::order(const Route&, std::span<const BatchRef> earlier) {
  Order order;
  for (const BatchRef& batch : earlier) {
    if (!ring_->is_done(batch.begin)) order.begins[order.count++] = batch.begin;
  }
  return order;
}

std::optional<Place> HostBackend::reserve(const Route&, std::uint32_t tasks) {
  const std::optional<std::uint64_t> begin = ring_->open_batch(tasks);
  if (!begin) return std::nullopt;
  return Place{*begin, *begin, tasks};
}

void HostBackend::publish(const Route&, const Place& place,
                          std::uint32_t tasks) {
  // Workers take only positions before the first open chain, and an independent
  // task must not wait for a chain.
  chains_.close_all();
  const abi::Descriptor& first = ring_->descriptor(place.first);
  const abi::Payload payload = read_payload(first);
  if (payload.wait_distance != 0 && (payload.flags & abi::kJoin) == 0)
    shared_->note_order(place.first, payload.wait_distance);
  // Each tile of a large task is worth a worker.
  publish_until(place.first + tasks, !is_tile(first));
}

void HostBackend::publish_until(std::uint64_t end, bool is_little) {
  if (!shared_->publish(end, is_little)) look_after_queue();
}

void HostBackend::look_after_queue() {
  quiet_ticks_.store(0, std::memory_order_relaxed);
  if (control_ == nullptr)
    control_ =
        std::make_unique<ControlThread>([] {}, [this] { return tick(); });
  control_->notify();
}

std::optional<std::chrono::microseconds> HostBackend::tick() {
  // A thread that loses the processor with the lock stops all that submit.
  if (!chains_.is_empty()) {
    const std::unique_lock lock(submit_mutex_, std::try_to_lock);
    if (lock) chains_.close_old(options_.flush_after);
  }
  if (shared_->ticket.load(std::memory_order_relaxed) < seen_ &&
      shared_->has_ready_work()) {
    shared_->idle.announce();
    pause_ = options_.flush_after;
  }
  seen_ = shared_->published.load(std::memory_order_seq_cst);
  if (!chains_.is_empty() || shared_->has_work()) return options_.flush_after;
  // Waking the thread costs more than a few looks without work.
  if (quiet_ticks_.fetch_add(1, std::memory_order_relaxed) >= kQuietTicks)
    return std::nullopt;
  // The threads that wait run all tasks. Each look takes a processor from them
  // for some 20 us.
  pause_ = std::min(2 * pause_, kLongestPause * options_.flush_after);
  return pause_;
}

std::uint64_t HostBackend::tile_elems(std::uint64_t elems,
                                      std::size_t) const noexcept {
  const std::uint64_t tiles =
      std::clamp<std::uint64_t>(elems / kTileElems, 1, kMaxTiles);
  return rounded_up((elems + tiles - 1) / tiles, kTileStep);
}

void HostBackend::pause(const BatchRef& batch, std::uint64_t end,
                        std::uint64_t turn, Deadline deadline) {
  // The caller reads the clock before its first turn, but not before each.
  const bool has_time = turn == 0 || Clock::now() < deadline;
  if (has_time && help(*shared_, end, deadline)) return;
  // With one processor a worker runs when this thread does not.
  const bool may_poll = shared_->max_polling != 0;
  if (may_poll && turn < kPauseTurns) {
    for (int i = 0; i < kPausesPerTurn; ++i) cpu_relax();
    return;
  }
  if (may_poll && turn == kPauseTurns && spin_policy_.should_spin()) {
    spin_policy_.note(
        !poll(batch, std::min(deadline, Clock::now() + kLongPoll)));
    return;
  }
  shared_->waiters.wait(batch.begin, deadline, [&] {
    return is_dead() || shared_->is_done_ordered(batch.begin);
  });
}

bool HostBackend::poll(const BatchRef& batch, Deadline until) {
  for (Deadline now = Clock::now(); !ring_->is_done(batch.begin);) {
    if (now >= until) return false;
    for (int i = 0; i < kPausesPerTurn; ++i) cpu_relax();
    // The worker may be on this processor. If both stay runnable, the system
    // gives each its own processor. A thread that sleeps instead is woken next
    // to the worker again and again.
    sched_yield();
    const Deadline before = std::exchange(now, Clock::now());
    // Other programs want the processors: to be woken takes no longer then.
    if (now - before > kCrowded) return ring_->is_done(batch.begin);
  }
  return true;
}

void HostBackend::start_watchdog() {
  const std::lock_guard lock(watchdog_mutex_);
  if (watchdog_ != nullptr || is_stopped_) return;
  watchdog_ = std::make_unique<WatchdogThread>(
      options_.watchdog, [this] { return look_for_overrun(); });
}

bool HostBackend::look_for_overrun() {
  if (is_dead()) return false;
  const auto slot = shared_->find_overrun(limit_.load());
  if (!slot) return shared_->has_traced();
  const std::lock_guard lock(death_mutex_);
  if (is_dead()) return false;
  culprit_ = shared_->table.name(*slot);
  is_dead_.store(true, std::memory_order_release);
  // Also wakes waiting threads.
  shared_->stop();
  return false;
}

void HostBackend::throw_dead() {
  const std::lock_guard lock(death_mutex_);
  is_death_told_ = true;
  if (has_dropped())
    throw QueueClosed(
        "the runtime was closed by an interrupt; pending tasks were dropped");
  throw TaskError(culprit_, concat(culprit_, ": expected to run for at most ",
                                   limit_.load().count(),
                                   " ms, still runs; the runtime is dead"));
}

void HostBackend::check(const BatchRef& batch) {
  // A task that was done before others were dropped keeps its result.
  if (is_dead() && !(has_dropped() && ring_->is_done(batch.begin)))
    throw_dead();
  shared_->failures.check(batch.begin);
}

void HostBackend::check_all() {
  check_alive();
  shared_->failures.check_untold();
}

void HostBackend::load(std::span<const OperatorBuild> builds) {
  const auto begin = Clock::now();
  start_watchdog();
  std::vector<LoadedOperator> loaded;
  for (const OperatorBuild& build : builds) {
    const std::string& name = build.definition.name;
    HostModule module =
        compile_host_operator({.source = build.source(),
                               .entry = name,
                               .is_awaited = build.is_awaited,
                               .prelude = std::string(build.prelude())});
    loaded.push_back({module.entry, std::move(module.library), name});
    if (build.checked != nullptr) shared_->make_faults();
  }
  for (std::size_t i = 0; i < builds.size(); ++i)
    shared_->table.set(builds[i].slot, std::move(loaded[i]));
  injections_.fetch_add(builds.size(), std::memory_order_relaxed);
  last_compile_ms_.store(
      std::chrono::duration<double, std::milli>(Clock::now() - begin).count(),
      std::memory_order_relaxed);
}

void HostBackend::unload(std::span<const std::uint32_t> slots) noexcept {
  for (const std::uint32_t slot : slots) shared_->table.clear(slot);
  unloads_.fetch_add(slots.size(), std::memory_order_relaxed);
}

void* HostBackend::allocate(std::size_t bytes) {
  // Not aligned by the C library: before glibc 2.38 a block that it aligns does
  // not fit where one of the same size was, and memory grows to twice its size.
  void* block = bytes > SIZE_MAX - kAlignment
                    ? nullptr
                    : ::operator new(bytes + kAlignment, std::nothrow);
  if (block == nullptr) throw NoMemory(bytes);
  const auto end = reinterpret_cast<std::uintptr_t>(block) + kAlignment;
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  auto* data = reinterpret_cast<void**>(end - end % kAlignment);
  data[-1] = block;  // blocks begin at multiples of 16 bytes, so it has room
  return data;
}

void HostBackend::deallocate(void* data) noexcept {
  ::operator delete(static_cast<void**>(data)[-1]);
}

void HostBackend::copy_to_device(void* to, const void* from,
                                 std::size_t bytes) {
  if (bytes != 0) std::memcpy(to, from, bytes);
}

void HostBackend::copy_to_host(void* to, const void* from, std::size_t bytes) {
  if (bytes != 0) std::memcpy(to, from, bytes);
}

void HostBackend::fill_stats(Stats& stats) const {
  const auto workers = static_cast<std::uint32_t>(shared_->states.size());
  stats.device = processor_name();
  stats.residency = "resident";
  stats.residency_reason =
      "worker threads stay; they sleep after linger without a task";
  stats.worker_image = "host";
  stats.is_resident = shared_->idle.sleeping() < workers;
  stats.is_dead = is_dead();
  stats.workers = workers;
  stats.threads_per_worker = 1;
  stats.injections = injections_.load(std::memory_order_relaxed);
  stats.unloads = unloads_.load(std::memory_order_relaxed);
  stats.last_compile_ms = last_compile_ms_.load(std::memory_order_relaxed);
}

bool HostBackend::drop_pending() {
  const std::lock_guard lock(death_mutex_);
  if (is_dead()) return true;
  is_death_told_ = true;  // close() reports it
  has_dropped_.store(true, std::memory_order_release);
  is_dead_.store(true, std::memory_order_release);
  // Wakes those who wait, too.
  shared_->stop();
  return true;
}

void HostBackend::stop() {
  stop_threads();
  if (is_dead() && !is_death_told_) throw_dead();
  shared_->failures.check_untold();
}

void HostBackend::stop_threads() {
  std::unique_ptr<WatchdogThread> watchdog;
  {
    // A compiling thread may be about to load its result.
    const std::lock_guard lock(watchdog_mutex_);
    if (is_stopped_) return;
    is_stopped_ = true;
    watchdog = std::move(watchdog_);
  }
  control_.reset();
  watchdog.reset();
  threads_.stop(is_dead() ? kDeadGrace : kGrace);
}

}  // namespace gpuos::host

namespace gpuos {

std::unique_ptr<Backend> make_host_backend(const RuntimeOptions& options,
                                           QuickMutex& submit_mutex) {
  return std::make_unique<host::HostBackend>(options, submit_mutex);
}

}  // namespace gpuos
