// The work of the CUDA backend's control thread.

#include "base/concat.h"
#include "cuda/cuda_backend.h"
#include "gpuos/error.h"

namespace gpuos::cu {
namespace {

using std::chrono::microseconds;

/// The delay until the end of a residency or the age of a flush is seen.
constexpr microseconds kActiveTick{50};
/// The delay until a fault is seen while tasks are pending.
constexpr microseconds kPendingTick{1000};

/// A producer may publish while the workers leave and not see it, and this
/// thread may not see what it published. Both stores arrive within
/// microseconds. This is the time for which the thread continues to look before
/// it sleeps.
constexpr microseconds kAwakeAfter{1000};

/// Maximum number of modules that wait until no worker is resident. Unloading
/// one takes some microseconds, which the next park should rarely pay.
constexpr std::size_t kMostDropped = 16;

double us_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::micro>(
             std::chrono::steady_clock::now() - start)
      .count();
}

bool is_pending(const Ring& ring) { return ring.completed() != ring.head(); }

}  // namespace

std::optional<microseconds> CudaBackend::tick() {
  if (health_.is_dead()) return std::nullopt;
  try {
    look_after_residency();
    look_after_age();
    look_after_faults();
  } catch (const std::exception& error) {
    fail(error);
    return std::nullopt;
  }
  const std::unique_lock lock(submit_mutex_, std::try_to_lock);
  if (!lock || is_resident_.load() || device_->bursts.is_open() ||
      !chains_.is_empty())
    return kActiveTick;
  for (Ring* ring : rings_) ring->advance();
  if (Clock::now() < awake_until_) return kActiveTick;
  if (is_pending(*rings_[0]) || is_pending(*rings_[1])) return kPendingTick;
  // Their launches continue, and their end is not signalled.
  if (dropped_count() > 0) return kPendingTick;
  return std::nullopt;
}

void CudaBackend::fail(const std::exception& error) noexcept {
  try {
    die_of(error);
  } catch (...) {
    health_.die({}, {});
  }
}

bool CudaBackend::look_for_stuck() {
  if (health_.is_dead()) return false;
  const auto names = watchdog_.find_stuck();
  if (!names) return !watchdog_.is_empty();
  health_.die(*names, concat(*names, ": expected a task to end within ",
                             watchdog_.limit().count(),
                             " ms, it still runs; the runtime is dead"));
  Parking::instance().note_stuck(ordinal());
  return false;
}

void CudaBackend::look_after_residency() {
  if (is_resident_.load() && !device_->residency.has_left()) {
    head_at_tick_ = rings_[kResidentRing]->head();
    return;
  }
  if (is_resident_.load()) {
    is_resident_.store(false);
    awake_until_ = Clock::now() + kAwakeAfter;
  }
  if (dropped_count() > 0) unload_dropped();
  if (is_parked_for_good_) return;
  Ring& ring = *rings_[kResidentRing];
  const std::uint64_t head = ring.head();
  const bool is_fed = head != head_at_tick_;
  head_at_tick_ = head;
  if (!is_fed && !is_pending(ring) && !is_wanted_.load() && !stays_.load())
    return;
  // Blocks submissions until the launch. A burst launched after resident
  // workers would wait until they leave.
  const std::lock_guard lock(submit_mutex_);
  ring.advance();
  if (!wants_workers(is_fed)) return;
  device_->bursts.launch();
  // They would find nothing to do, leave, and be wanted again.
  chains_.close_all();
  launch_residency();
}

bool CudaBackend::wants_workers(bool is_fed) {
  const bool is_left_over = is_pending(*rings_[kResidentRing]);
  // A lease that ends under a host that keeps submitting is renewed.
  const bool goes_on = is_left_over || is_fed;
  if (options_.residency != Residency::Auto)
    return is_wanted_.exchange(false) || goes_on;
  return stays_.load() ? is_stay_worthwhile(goes_on) : is_left_over;
}

bool CudaBackend::is_stay_worthwhile(bool goes_on) {
  const std::uint64_t head = rings_[kResidentRing]->head();
  const std::uint64_t served = head - head_at_launch_;
  head_at_launch_ = head;
  if (!has_stayed_) {
    has_stayed_ = true;
    return true;
  }
  if (goes_on && served >= StayPolicy::kWorthwhile) return true;
  // The linger ended it. Tasks may have come before this thread saw that. They
  // need workers once more, but the next ones go as bursts.
  has_stayed_ = false;
  stays_.store(false);
  policy_.end_stay(served);
  return is_pending(*rings_[kResidentRing]);
}

void CudaBackend::launch_residency() {
  // After the end of a residency new tasks are bursts that follow these
  // workers.
  const bool is_brief = options_.residency == Residency::Auto && !stays_.load();
  device_->residency.launch(is_brief);
  is_resident_.store(true);
}

void CudaBackend::look_after_age() {
  const std::unique_lock lock(submit_mutex_, std::try_to_lock);
  if (!lock) return;
  chains_.close_old(options_.flush_after);
  if (!device_->bursts.is_open()) return;
  if (Clock::now() - device_->bursts.opened_at() >= options_.flush_after)
    device_->bursts.launch();
}

void CudaBackend::look_after_faults() {
  const auto now = Clock::now();
  if (now < next_fault_check_) return;
  next_fault_check_ = now + kPendingTick;
  const CUresult status = driver().cuStreamQuery(device_->probe_stream.get());
  if (status != CUDA_SUCCESS && status != CUDA_ERROR_NOT_READY) {
    const std::string names = watchdog_.suspects();
    const char* text = "";
    driver().cuGetErrorName(status, &text);
    health_.die(
        names,
        concat(names.empty() ? "no whole operator was running" : names,
               ": the device failed with ", text, "; the runtime is dead"));
  }
}

void CudaBackend::park() {
  if (!is_resident_.load()) return;
  ResidentWorkers& residency = device_->residency;
  residency.request_park();
  const auto start = Clock::now();
  while (!residency.has_left()) {
    look_after_faults();
    health_.check();
    if (Clock::now() - start < options_.watchdog) continue;
    const std::string names = watchdog_.suspects();
    health_.die(names,
                concat(names, ": the workers did not leave within ",
                       options_.watchdog.count(), " ms; the runtime is dead"));
    health_.check();
  }
  parks_.fetch_add(1);
}

void CudaBackend::while_parked(const std::function<void()>& job) {
  health_.check();
  const auto start = Clock::now();
  // Keeps the state: submissions meanwhile wait for the workers. These return
  // sooner than a burst that is launched after them could run.
  const bool was_resident = is_resident_.load();
  park();
  std::exception_ptr failure;
  try {
    {
      const auto pass = gate_.pass();
      const auto parked = Clock::now();
      job();
      last_load_us_.store(us_since(parked));
    }
    // A host that loads all the time leaves no other moment without workers.
    if (dropped_count() >= kMostDropped) unload_dropped();
  } catch (...) {
    failure = std::current_exception();
  }
  if (was_resident) {
    device_->modules.put_before(device_->residency.stream());
    launch_residency();
    last_pause_us_.store(us_since(start));
  }
  if (failure) std::rethrow_exception(failure);
}

void CudaBackend::inject(std::span<const OperatorImage> images,
                         bool is_checked) {
  try {
    while_parked([&] {
      if (is_checked && device_->faults == nullptr)
        device_->faults =
            std::make_unique<PinnedBuffer>(fault_count() * sizeof(abi::Fault));
      device_->modules.load(images);
    });
  } catch (...) {
    device_->modules.wait();
    throw;
  }
  device_->modules.wait();
}

void CudaBackend::run_parked(std::function<void()> job) {
  control_->run([this, job = std::move(job)] { while_parked(job); },
                [this] { health_.check(); });
}

std::size_t CudaBackend::dropped_count() const {
  return device_->modules.dropped_count() +
         Parking::instance().dropped_count(context_.ordinal());
}

void CudaBackend::unload_dropped() {
  const auto pass = gate_.pass();
  device_->modules.unload_dropped();
  Parking::instance().unload_dropped(context_.ordinal());
}

}  // namespace gpuos::cu
