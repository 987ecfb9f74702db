#include "cuda/bursts.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/concat.h"
#include "gpuos/error.h"

namespace gpuos::cu {
namespace {

/// Tasks that a flush collects before it is launched without being asked: a
/// launch costs 3 us and a task 6 ns, so waiting for more gains little.
constexpr std::uint32_t kLongFlush = 512;
/// The longest flush while the device has two flushes to run. Where tasks are
/// long, few workers are busy at the end of each flush. So fewer flushes gain
/// more than the wait costs. docs/lab/bursts.md has the times of other lengths.
constexpr std::uint32_t kLongestFlush = 2048;
/// Tiles of a call that is launched by itself if no flush is open: then only
/// the first one's descriptor is written.
constexpr std::uint32_t kLongCall = 256;
/// Returns the number of parameter places that `args` arguments take.
std::uint32_t block_places(std::uint64_t args) {
  constexpr std::uint64_t kEach = sizeof(abi::Descriptor) / sizeof(u64);
  return static_cast<std::uint32_t>((args + kEach - 1) / kEach);
}

}  // namespace

void FlushFailures::add(std::uint64_t begin, std::exception_ptr why) {
  const std::lock_guard lock(mutex_);
  if (failures_.size() == kRemembered) failures_.pop_front();
  failures_.push_back({begin, std::move(why), false});
  has_any_.store(true, std::memory_order_release);
}

void FlushFailures::find(std::uint64_t begin) {
  const std::lock_guard lock(mutex_);
  for (Failure& failure : failures_) {
    if (failure.begin != begin) continue;
    failure.is_told = true;
    std::rethrow_exception(failure.why);
  }
}

void FlushFailures::find_untold() {
  const std::lock_guard lock(mutex_);
  for (Failure& failure : failures_) {
    if (failure.is_told) continue;
    failure.is_told = true;
    std::rethrow_exception(failure.why);
  }
}

Bursts::Bursts(const Context& context, DriverGate& gate,
               const WorkerKernel& kernel, const abi::Queue& queue, Ring& ring,
               const RuntimeOptions& options, std::uint32_t workers)
    : context_(context),
      gate_(gate),
      kernel_(kernel),
      ring_(ring),
      workers_(workers),
      threads_(options.threads_per_worker),
      stream_(make_stream()),
      event_(make_event()) {
  launch_.queue = queue;
  launch_.table = kernel.table();
}

std::optional<Place> Bursts::reserve(CUstream stream, std::uint32_t tasks) {
  if (is_open() &&
      (open_.stream != stream || open_.tasks + tasks > ring_.max_batch()))
    launch();
  Place place;
  if (is_open()) {
    place.first = open_.begin + open_.tasks;
    if (!ring_.extend_batch(open_.begin, tasks)) return std::nullopt;
  } else {
    const auto begin = ring_.open_batch(tasks);
    if (!begin) return std::nullopt;
    open_ = {stream, *begin, 0, std::chrono::steady_clock::now(),
             stream != stream_.get() && is_capturing(stream)};
    place.first = *begin;
  }
  open_.meets_launched |= std::exchange(meets_launched_, false);
  open_.tasks += tasks;
  place.batch_begin = open_.begin;
  // See launch_if_long().
  open_.is_long_call = open_.tasks == tasks && tasks >= kLongCall;
  place.is_alone = open_.is_long_call;
  return place;
}

bool Bursts::can_queue_now(CUstream stream,
                           std::uint32_t tasks) const noexcept {
  const std::uint32_t together = open_.tasks + tasks;
  // The device's backlog may change a moment later, so it is not used here.
  if (together >= (is_open() ? kLongFlush : kLongCall) ||
      together > ring_.max_batch())
    return false;
  // The code that opens a flush of a foreign stream asks whether it is
  // captured.
  return is_open() ? open_.stream == stream : stream == stream_.get();
}

std::uint32_t Bursts::open_tasks() const noexcept {
  std::uint32_t tasks = 0;
  for (std::uint64_t i = 0; i < open_.tasks; ++i) {
    const abi::Payload payload =
        read_payload(ring_.descriptor(open_.begin + i));
    tasks += abi::is_chain(payload.flags) ? payload.count : 1;
  }
  return tasks;
}

bool Bursts::is_long(std::uint32_t tasks) const noexcept {
  if (tasks < kLongFlush) return false;
  return tasks >= kLongestFlush || !is_behind();
}

void Bursts::launch_if_long() {
  if (is_long(open_.tasks) || open_.is_long_call) launch();
}

void Bursts::launch() {
  if (!is_open()) return;
  const auto pass = gate_.pass();
  const Flush flush = open_;
  open_.tasks = 0;
  before_last_ = std::exchange(last_, flush.begin);
  try {
    const CurrentContext scope(context_);
    launch(flush);
  } catch (const CudaError& error) {
    if (is_sticky(error.code())) throw;
    fail(flush);
  } catch (const Error&) {
    fail(flush);
  }
}

void Bursts::fail(const Flush& flush) {
  failures_.add(flush.begin, std::current_exception());
  ring_.mark_done(flush.begin);
  // It did not wait for those before it, as the next part of its submission
  // trusts.
  meets_launched_ = true;
}

void Bursts::launch(const Flush& flush) {
  const bool captures =
      flush.stream != stream_.get() && is_capturing(flush.stream);
  if (captures != flush.captures)
    throw Error(concat(
        "flush: expected tasks to be flushed before the capture of their "
        "stream ",
        captures ? "begins" : "ends", ", got ", flush.tasks,
        " that were not; they did not run"));
  if (is_row(flush)) {
    launch_row(flush);
  } else if (captures) {
    // The ring's places are used again, so a graph carries its descriptors
    // with it.
    for (std::uint32_t first = 0; first < flush.tasks;) {
      const std::uint32_t tasks = pack(flush, first, flush.tasks);
      note_captured(tasks);
      launch_inline(flush, tasks);
      first += tasks;
    }
  } else if (flush.tasks <= abi::kLaunchDescriptors &&
             pack(flush, 0, flush.tasks) == flush.tasks) {
    launch_inline(flush, flush.tasks);
  } else {
    launch_from_ring(flush);
  }
  // A graph may run at any time, so nothing waits for it here.
  if (captures) ring_.mark_done(flush.begin);
}

bool Bursts::is_row(const Flush& flush) const noexcept {
  const abi::Payload first = read_payload(ring_.descriptor(flush.begin));
  const bool is_first_tile = first.flags >> abi::kTileShift == 0;
  // Joins and chains count something else in `parts`.
  return std::max<std::uint32_t>(1, first.parts) == flush.tasks &&
         is_first_tile && (first.flags & abi::kJoin) == 0;
}

std::uint32_t Bursts::pack(const Flush& flush, std::uint32_t first,
                           std::uint32_t end) {
  // Tasks from the front, argument blocks from the back. Tiles of one call
  // follow each other and have one block.
  std::uint32_t tasks = 0;
  std::uint32_t blocks_begin = abi::kLaunchDescriptors;
  for (; first + tasks < end; ++tasks) {
    const std::uint64_t position = flush.begin + first + tasks;
    const abi::Descriptor& descriptor = ring_.descriptor(position);
    abi::Payload payload = read_payload(descriptor);
    const bool in_block = (payload.flags & abi::kArgsInBlock) != 0;
    const bool is_tile = payload.flags >> abi::kTileShift != 0;
    const bool is_new = in_block && (tasks == 0 || !is_tile);
    const std::uint32_t places = is_new ? block_places(payload.args[0]) : 0;
    if (tasks + 1 + places > blocks_begin) break;
    launch_.descriptors[tasks] = descriptor;
    if (!in_block) continue;
    if (is_new) {
      blocks_begin -= places;
      std::memcpy(static_cast<void*>(launch_.descriptors + blocks_begin),
                  ring_.args_of(position, payload),
                  payload.args[0] * sizeof(u64));
    }
    payload.args[1] = blocks_begin;
    write_descriptor(launch_.descriptors[tasks], words_of(payload), 0);
  }
  return tasks;
}

void Bursts::launch_row(const Flush& flush) {
  const abi::Payload payload = read_payload(ring_.descriptor(flush.begin));
  const bool in_block = (payload.flags & abi::kArgsInBlock) != 0;
  abi::TiledTask& tiled = launch_.tiled;
  tiled.op = payload.op;
  tiled.is_traced = payload.flags & abi::kTraced;
  tiled.count = payload.count;
  tiled.parts = flush.tasks;
  tiled.arg_count = in_block ? static_cast<std::uint32_t>(payload.args[0])
                             : std::uint32_t{abi::kInlineArgs};
  std::copy_n(in_block ? ring_.args_of(flush.begin, payload) : payload.args,
              tiled.arg_count, tiled.args);
  if (flush.captures) captured_[payload.op].store(true);
  launch_.mode = abi::kTiledBurst;
  launch_.inline_count = flush.tasks;
  launch_workers(flush, flush.tasks);
}

void Bursts::note_captured(std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i)
    captured_[op_of(launch_.descriptors[i])].store(true);
}

void Bursts::launch_inline(const Flush& flush, std::uint32_t tasks) {
  launch_.mode = abi::kInlineBurst;
  launch_.inline_count = tasks;
  launch_workers(flush, tasks);
}

void Bursts::launch_from_ring(const Flush& flush) {
  launch_.mode = abi::kRingBurst;
  launch_.end = flush.begin + flush.tasks;
  launch_workers(flush, flush.tasks);
}

void Bursts::launch_workers(const Flush& flush, std::uint32_t tasks) {
  launch_.begin = flush.begin;
  launch_.signal = flush.captures ? 0 : 1;
  // The legacy stream waits for other streams, and a graph has its own edges.
  const bool overlaps = !flush.captures && flush.stream != nullptr &&
                        flush.stream != CU_STREAM_LEGACY;
  // Other code may launch kernels into a foreign stream without notice.
  launch_.is_independent =
      overlaps && flush.stream == stream_.get() && !flush.meets_launched;
  kernel_.launch(launch_, std::min(tasks, workers_), threads_, flush.stream,
                 overlaps);
  count_.fetch_add(1, std::memory_order_relaxed);
}

void Bursts::put_in_order(CUstream earlier, CUstream later) {
  const auto pass = gate_.pass();
  const CurrentContext scope(context_);
  GPUOS_CUDA_CHECK(driver().cuEventRecord(event_.get(), earlier));
  GPUOS_CUDA_CHECK(driver().cuStreamWaitEvent(later, event_.get(), 0));
}

bool Bursts::is_capturing(CUstream stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  // A query of the legacy stream during another stream's capture is an error.
  // The following launch would report it.
  if (driver().cuStreamIsCapturing(stream, &status) != CUDA_SUCCESS)
    return false;
  // An invalidated capture continues until it is ended.
  return status != CU_STREAM_CAPTURE_STATUS_NONE;
}

void Bursts::abandon() noexcept {
  static_cast<void>(new Stream(std::move(stream_)));
  static_cast<void>(new Event(std::move(event_)));
}

}  // namespace gpuos::cu
