#include "cuda/cuda_backend.h"

#include <algorithm>
#include <thread>

#include "base/concat.h"
#include "base/cpu_relax.h"
#include "base/quiet_thread.h"
#include "gpuos/error.h"
#include "jit/operator_compiler.h"

namespace gpuos::cu {
namespace {

/// Elements from which a task is cut into tiles: one worker reads and writes
/// 64 KiB of float32 in about 2 us.
constexpr std::uint64_t kTileElems = 16384;
/// Tiles of a large task for each worker. Resident workers claim available
/// tiles, so with several the last ones end together. Tiles of a burst are
/// assigned. The host writes a descriptor for each: with 4, an add of 64 Mi
/// waited for it (docs/lab/machines.md).
constexpr std::uint64_t kResidentTiles = 2;
constexpr std::uint64_t kBurstTiles = 1;
/// Turns of a wait that poll before it begins to sleep: about 1 ms. A sleep
/// of 20 us takes up to 80, which shows in every wait shorter than that.
constexpr std::uint64_t kPollTurns = 20'000;
constexpr std::uint64_t kPoolBytesKept = std::uint64_t{256} << 20;
/// The time that the control thread of a dead runtime has to end.
constexpr std::chrono::milliseconds kDeadGrace{200};

std::uint32_t worker_count(const WorkerKernel& kernel,
                           const RuntimeOptions& options) {
  const std::uint32_t most = kernel.max_workers(options.threads_per_worker);
  if (options.workers > most)
    throw InvalidArgument(concat("Runtime: workers: expected at most ", most,
                                 " of ", options.threads_per_worker,
                                 " threads on this device, got ",
                                 options.workers));
  return options.workers != 0 ? options.workers : most;
}

}  // namespace

DeviceSide::DeviceSide(const Context& context, DriverGate& gate,
                       const RuntimeOptions& options)
    : kernel(context, options.worker_image),
      workers(worker_count(kernel, options)),
      resident_storage(options.queue_capacity),
      burst_storage(options.queue_capacity),
      chain_memory(ChainBlocks::kBytes),
      shared_memory(kSharedBytes),
      resident_ring(resident_storage.host(), options.queue_capacity),
      burst_ring(burst_storage.host(), options.queue_capacity),
      residency(kernel, resident_storage.device(), options, workers),
      bursts(context, gate, kernel, burst_storage.device(), burst_ring, options,
             workers),
      modules(context.ordinal(), kernel),
      memory_stream(make_stream()),
      probe_stream(make_stream()) {}

void DeviceSide::abandon() noexcept {
  kernel.abandon();
  resident_storage.abandon();
  burst_storage.abandon();
  chain_memory.abandon();
  shared_memory.abandon();
  if (faults != nullptr) faults->abandon();
  residency.abandon();
  bursts.abandon();
  modules.abandon();
  static_cast<void>(new Stream(std::move(memory_stream)));
  static_cast<void>(new Stream(std::move(probe_stream)));
}

CudaBackend::CudaBackend(const RuntimeOptions& options,
                         QuickMutex& submit_mutex)
    : options_(options),
      submit_mutex_(submit_mutex),
      context_(options.device),
      gate_(health_),
      device_([&] {
        const ContextScope scope(context_);
        return std::make_unique<DeviceSide>(context_, gate_, options);
      }()),
      rings_{&device_->resident_ring, &device_->burst_ring},
      chains_(
          device_->resident_ring, [this] { control_->notify(); },
          [this] { publish({kResidentRing, nullptr}, {}, 0); }),
      chain_blocks_(device_->chain_memory.as<abi::Member>(), rings_),
      addresses_(context_, gate_),
      policy_(options.linger),
      watchdog_(rings_, options.watchdog) {
  traits_ = {.name = "cuda",
             .rings = rings_,
             .chains = &chains_,
             .chain_blocks = &chain_blocks_,
             .workers = {.count = device_->workers,
                         .lanes = options.threads_per_worker},
             .min_tile_elems = kTileElems,
             // All workers then move through memory side by side, which its
             // pages like.
             .interleaves_tiles = true,
             .builds_drafts = true,
             .links_objects = true,
             .shared_words = {device_->shared_memory.as<std::uint64_t>(),
                              kSharedBytes / sizeof(std::uint64_t)}};
  const ContextScope scope(context_);
  CUmemoryPool pool = nullptr;
  GPUOS_CUDA_CHECK(
      driver().cuDeviceGetDefaultMemPool(&pool, context_.device()));
  // Others use this pool too and may have asked for more.
  std::uint64_t kept = 0;
  GPUOS_CUDA_CHECK(driver().cuMemPoolGetAttribute(
      pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &kept));
  if (kept < kPoolBytesKept) {
    kept = kPoolBytesKept;
    GPUOS_CUDA_CHECK(driver().cuMemPoolSetAttribute(
        pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &kept));
  }
  control_ = std::make_unique<ControlThread>(
      [this] {
        GPUOS_CUDA_CHECK(driver().cuCtxSetCurrent(context_.get()));
        // Or our queries and loads would spoil a graph that another thread
        // captures.
        CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
        GPUOS_CUDA_CHECK(driver().cuThreadExchangeStreamCaptureMode(&mode));
      },
      [this] { return tick(); });
  watchdog_thread_ = std::make_unique<WatchdogThread>(
      options_.watchdog, [this] { return look_for_stuck(); });
  // Opening NVRTC and its first compile take 0.1 to 0.3 s that the first
  // define() need not wait for.
  warm_up_ = quiet_thread([arch = context_.compute_capability()] {
    try {
      jit::prepare_compiler(arch);
    } catch (const Error&) {  // NOLINT(bugprone-empty-catch)
      // define() will report what is missing.
    }
  });
  Parking::instance().enter(this);
}

CudaBackend::~CudaBackend() {
  try {
    stop();
  } catch (...) {  // NOLINT(bugprone-empty-catch)
    // Callers of stop() get the report.
  }
  if (health_.is_dead() || Parking::instance().is_stuck(ordinal())) {
    device_->abandon();
    return;
  }
  try {
    // For any thread. A graph that another thread captures must not be spoilt.
    const ContextScope scope(context_);
    device_.reset();
  } catch (...) {
    device_->abandon();
  }
}

CUstream CudaBackend::handle_of(const gpuos::Stream& stream) const noexcept {
  return stream.is_named ? static_cast<CUstream>(stream.handle)
                         : device_->bursts.stream();
}

template <typename F>
auto CudaBackend::guarded(F f) -> decltype(f()) {
  try {
    return f();
  } catch (const CudaError& error) {
    if (!is_sticky(error.code())) throw;
    die_of(error);
    // The operator is what the caller must know, as from then on.
    if (health_.names_operator()) health_.check();
    throw;
  }
}

void CudaBackend::die_of(const std::exception& error) {
  const std::string names = watchdog_.suspects();
  health_.die(names,
              names.empty() ? error.what() : concat(names, ": ", error.what()));
}

inline Route CudaBackend::burst_route(
    const gpuos::Stream& stream) const noexcept {
  const CUstream handle = handle_of(stream);
  return {kBurstRing, handle,
          device_->bursts.collecting(handle).value_or(Route::kNone)};
}

Route CudaBackend::route(const gpuos::Stream& stream) {
  health_.check();
  if (stream.is_named && stream.handle == CU_STREAM_PER_THREAD)
    throw InvalidArgument(
        "submit: expected a stream, got the per-thread default stream; another "
        "thread launches and has another one; create a stream");
  const bool wants_workers =
      options_.residency == Residency::Resident || stays_.load();
  if (stream.is_named || !wants_workers) return burst_route(stream);
  if (is_resident_.load()) return {kResidentRing, nullptr};
  // Launching is the control thread's work, and waking it takes longer than a
  // burst: until the workers are back, bursts.
  if (options_.residency == Residency::Resident) is_wanted_.store(true);
  control_->notify();
  return burst_route(stream);
}

bool CudaBackend::can_queue_now(const Route& route, std::uint32_t tasks,
                                std::span<const Access> accesses, bool meets) {
  for (const Access& access : accesses) {
    if (!addresses_.is_known(access.low)) return false;
  }
  return route.ring == kResidentRing ||
         (!meets && device_->bursts.can_queue_now(
                        static_cast<CUstream>(route.stream), tasks));
}

Order CudaBackend::order(const Route& route,
                         std::span<const BatchRef> earlier) {
  Order order;
  Bursts& bursts = device_->bursts;
  const auto stream = static_cast<CUstream>(route.stream);
  for (const BatchRef& batch : earlier) {
    if (batch.ring == kBurstRing && route.ring == kBurstRing &&
        bursts.is_open_at(batch.begin))
      guarded([&] { bursts.launch(); });
    // A captured one is done with its launch.
    if (rings_[batch.ring]->is_done(batch.begin)) continue;
    if (route.ring == kBurstRing) bursts.meet_launched(stream);
    if (batch.ring == kResidentRing && route.ring == kResidentRing) {
      order.begins[order.count++] = batch.begin;
    } else if (batch.ring != route.ring || Bursts::is_capturing(stream) ||
               Bursts::is_capturing(static_cast<CUstream>(batch.stream))) {
      // An event would draw one stream into the other's graph. A graph may also
      // run before the work that precedes its capture.
      order.wait_on_host = batch;
    } else if (batch.stream != route.stream) {
      // Launches of one stream follow each other.
      try {
        guarded([&] {
          bursts.put_in_order(static_cast<CUstream>(batch.stream), stream);
        });
      } catch (const CudaError&) {
        // Its stream may be gone while its tasks still run.
        health_.check();
        order.wait_on_host = batch;
      }
    }
  }
  return order;
}

std::optional<Place> CudaBackend::reserve(const Route& route,
                                          std::uint32_t tasks) {
  if (route.ring == kBurstRing)
    return guarded([&] {
      return device_->bursts.reserve(static_cast<CUstream>(route.stream),
                                     tasks);
    });
  const auto begin = device_->resident_ring.open_batch(tasks);
  if (!begin) return std::nullopt;
  return Place{*begin, *begin, tasks};
}

void CudaBackend::publish(const Route& route, const Place& place,
                          std::uint32_t) {
  if (route.ring == kBurstRing) {
    guarded([&] { device_->bursts.launch_if_long(); });
    device_->bursts.failures().check(place.batch_begin);
    // It looks after the age of a flush, and for faults once it is launched.
    // Until that is done it does not sleep, so once for each flush is enough.
    if (place.first == place.batch_begin) control_->notify();
    return;
  }
  // No fence: should we still read `true` after the workers left, the control
  // thread looks once more before it sleeps. See kAwakeAfter.
  if (!is_resident_.load(std::memory_order_relaxed)) control_->notify();
}

void CudaBackend::watch(const Route& route, const Place& place,
                        std::uint32_t tasks, const std::string& operator_name) {
  watchdog_.add(route.ring, place, tasks, operator_name);
  watchdog_thread_->notify();
  control_->notify();
}

void CudaBackend::flush(const gpuos::Stream* only) {
  chains_.close_all();
  if (only == nullptr || device_->bursts.is_open_in(handle_of(*only)))
    guarded([&] { device_->bursts.launch(); });
  // Includes failed launches of the control thread.
  device_->bursts.failures().check_all();
}

void CudaBackend::ensure_running(const BatchRef& batch) {
  Bursts& bursts = device_->bursts;
  if (batch.ring == kResidentRing) {
    // Earlier chains are closed too, because each keeps a worker and there may
    // be few.
    chains_.close_until(batch.begin);
    if (!is_resident_.load()) control_->notify();
    return;
  }
  if (!bursts.is_open_at(batch.begin)) return;
  const bool is_ours = bursts.is_open_in(bursts.stream());
  const std::uint32_t tasks = bursts.open_tasks();
  guarded([&] { bursts.launch(); });
  if (is_ours && options_.residency == Residency::Auto &&
      policy_.note_wait(tasks)) {
    stays_.store(true);
    control_->notify();
  }
}

std::uint64_t CudaBackend::tile_elems(std::uint64_t elems,
                                      std::size_t) const noexcept {
  const std::uint64_t tiles =
      options_.residency == Residency::Resident ? kResidentTiles : kBurstTiles;
  return std::max(kTileElems, elems / (device_->workers * tiles));
}

void CudaBackend::pause(const BatchRef& batch, std::uint64_t,
                        std::uint64_t turn, Deadline deadline) {
  const bool looks = turn >= kPollTurns || turn % 1024 == 1023;
  // The lease may have ended.
  if (looks && batch.ring == kResidentRing && device_->residency.has_left())
    control_->notify();
  if (turn < kPollTurns) return cpu_relax();
  const auto step = std::chrono::microseconds(turn < 2 * kPollTurns ? 20 : 200);
  std::this_thread::sleep_until(std::min(Clock::now() + step, deadline));
}

void CudaBackend::check(const BatchRef& batch) {
  if (!rings_[batch.ring]->is_done(batch.begin)) health_.check();
  if (batch.ring == kBurstRing) device_->bursts.failures().check(batch.begin);
}

void CudaBackend::load(std::span<const OperatorBuild> builds) {
  health_.check();
  const auto start = Clock::now();
  std::vector<OperatorImage> images = build_images(
      builds, context_.compute_capability(), device_->kernel.budget());
  last_compile_ms_.store(
      std::chrono::duration<double, std::milli>(Clock::now() - start).count());
  const bool is_checked = std::ranges::any_of(
      builds,
      [](const OperatorBuild& build) { return build.checked != nullptr; });
  control_->run([this, images = std::move(images),
                 is_checked] { inject(images, is_checked); },
                [this] { health_.check(); });
}

std::size_t CudaBackend::fault_count() const noexcept {
  return std::size_t{abi::kSlots} + rings_[0]->capacity() +
         rings_[1]->capacity();
}

std::span<abi::Fault> CudaBackend::faults() noexcept {
  return {device_->faults->as<abi::Fault>(), fault_count()};
}

bool CudaBackend::captures(const gpuos::Stream& stream) {
  if (!stream.is_named) return false;
  const ContextScope scope(context_);
  return Bursts::is_capturing(static_cast<CUstream>(stream.handle));
}

void CudaBackend::unload(std::span<const std::uint32_t> slots) noexcept {
  device_->modules.drop(slots);
  if (control_ != nullptr) control_->notify();
}

void CudaBackend::stop() {
  if (is_stopped_) return;
  is_stopped_ = true;
  Parking::instance().leave(this);
  std::exception_ptr failure;
  {
    // The driver would wait for them, perhaps forever.
    const std::lock_guard lock(submit_mutex_);
    for (Ring* ring : rings_) {
      ring->advance();
      if (ring->completed() != ring->head())
        health_.die(watchdog_.suspects(), "closed while tasks were pending");
    }
  }
  // Another runtime's task may be the reason. Ours are done.
  const bool is_stuck =
      health_.is_dead() || Parking::instance().is_stuck(ordinal());
  if (!is_stuck) {
    try {
      control_->run(
          [this] {
            is_parked_for_good_ = true;
            park();
            is_resident_.store(false);
            unload_dropped();
          },
          [this] { health_.check(); });
    } catch (...) {
      failure = std::current_exception();
    }
  }
  watchdog_thread_->stop();
  is_left_running_ = !control_->stop(
      is_stuck || health_.is_dead() ? kDeadGrace : options_.watchdog);
  warm_up_.join();
  if (failure) std::rethrow_exception(failure);
}

void CudaBackend::fill_stats(Stats& stats) const {
  const WorkerKernel& kernel = device_->kernel;
  stats.device = context_.name();
  stats.worker_image = kernel.image_kind();
  stats.is_dead = health_.is_dead();
  stats.is_resident = is_resident_.load();
  stats.workers = device_->workers;
  stats.registers_per_thread = kernel.budget().registers;
  stats.stack_bytes_per_thread = kernel.budget().stack_bytes;
  stats.bursts = device_->bursts.count();
  stats.residencies = device_->residency.count();
  stats.parks = parks_.load();
  stats.injections = device_->modules.loads();
  stats.unloads = device_->modules.unloads();
  stats.last_pause_us = last_pause_us_.load();
  stats.last_load_us = last_load_us_.load();
  stats.last_compile_ms = last_compile_ms_.load();
  switch (options_.residency) {
    case Residency::Resident:
      stats.residency = "resident";
      stats.residency_reason = "asked for: workers stay until they are idle";
      break;
    case Residency::Burst:
      stats.residency = "burst";
      stats.residency_reason = "asked for: one launch for each flush";
      break;
    case Residency::Auto:
      stats.residency = "auto";
      stats.residency_reason =
          stays_.load()
              ? "workers stay: the host submits few tasks and waits for them"
              : "bursts: the host does not wait for few tasks in turns";
      break;
  }
}

}  // namespace gpuos::cu

namespace gpuos {

std::unique_ptr<Backend> make_cuda_backend(const RuntimeOptions& options,
                                           QuickMutex& submit_mutex) {
  return std::make_unique<cu::CudaBackend>(options, submit_mutex);
}

}  // namespace gpuos
