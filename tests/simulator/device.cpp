#include "device.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "modules.h"

namespace gpuos::sim {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;

// The host writes descriptors with vector stores, which ThreadSanitizer treats
// as plain stores. The tags order them.
#define GPUOS_UNCHECKED __attribute__((no_sanitize("thread")))

template <typename T>
GPUOS_UNCHECKED T peek(const T* from) {
  return __atomic_load_n(from, __ATOMIC_ACQUIRE);
}

u32 place_of(const abi::Queue& queue, u64 position) {
  return static_cast<u32>(position) & (queue.capacity - 1);
}

bool is_there(const abi::Descriptor& descriptor, u32 tag) {
  for (int chunk = 0; chunk < 4; ++chunk) {
    if (peek(descriptor.words + 4 * chunk + 3) != tag) return false;
  }
  return true;
}

abi::Payload payload_of(const abi::Descriptor& descriptor) {
  std::array<u32, 12> words{};
  for (std::size_t i = 0; i < words.size(); ++i)
    words[i] = peek(descriptor.words + i + i / 3);
  return std::bit_cast<abi::Payload>(words);
}

// There if kArgsInBlock is set.
const abi::ArgBlock& block_of(const abi::Queue& queue,
                              const abi::Payload& payload, u64 position) {
  return queue.arg_blocks[place_of(queue, position - payload.args[1])];
}

std::array<u64, 4> args_of(const abi::Payload& payload,
                           const abi::ArgBlock& block) {
  const u64* args =
      (payload.flags & abi::kArgsInBlock) == 0 ? payload.args : block.args;
  return {peek(args), peek(args + 1), peek(args + 2), peek(args + 3)};
}

// A task of a program has its text in front of its buffers.
const u64* buffers_of(u16 op, const u64* args) {
  return op == kInterpreterSlot ? args + 1 : args;
}

abi::Payload tile_of(const abi::TiledTask& tiled, u64 tile) {
  abi::Payload payload{};
  payload.op = tiled.op;
  payload.flags = static_cast<u16>(tiled.is_traced |
                                   static_cast<u16>(tile << abi::kTileShift));
  payload.count = tiled.count;
  return payload;
}

void finish(const abi::Queue& queue, u64 begin) {
  // Pairs with the acquire load in Ring::is_done().
  std::atomic_ref(queue.done[place_of(queue, begin)])
      .store(abi::lap_tag(begin, queue.capacity_bits),
             std::memory_order_release);
}

}  // namespace

Device& Device::instance() {
  static auto* const device = new Device;
  return *device;
}

Device::Device() : thread_([this] { loop(); }) {}

void Device::launch(const abi::InlineLaunch& launch) {
  const bool stays = launch.mode == abi::kResident;
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back({launch, Clock::now(), !stays && staying_ != 0});
    staying_ += stays ? 1 : 0;
    ++launched_;
  }
  changed_.notify_all();
  if (!stays) return;
  const auto end = Clock::now() + launch_time_.load();
  while (Clock::now() < end) std::this_thread::yield();
}

void Device::synchronize() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this, last = launched_] { return finished_ >= last; });
}

void Device::load() {
  {
    const std::lock_guard lock(mutex_);
    counts_.is_loading = true;
  }
  synchronize();
  std::this_thread::sleep_for(load_time_.load());
  const std::lock_guard lock(mutex_);
  counts_.is_loading = false;
}

Counts Device::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

void Device::reset_counts() {
  const std::lock_guard lock(mutex_);
  counts_ = {};
  kernels_.clear();
}

std::vector<KernelLaunch> Device::kernels() const {
  const std::lock_guard lock(mutex_);
  return kernels_;
}

void Device::note_kernel(KernelLaunch launch) {
  const std::lock_guard lock(mutex_);
  kernels_.push_back(std::move(launch));
}

ModuleCounts Device::modules() const { return Modules::instance().counts(); }

std::vector<std::string> Device::faults() const {
  std::vector<std::string> found = Modules::instance().faults();
  const std::lock_guard lock(mutex_);
  if (spoilt_captures_ != 0)
    found.push_back(std::to_string(spoilt_captures_) +
                    " events in the legacy stream spoilt a capture");
  return found;
}

void Device::capture(const void* stream, bool begins) {
  const std::lock_guard lock(mutex_);
  if (begins)
    captured_.insert(stream);
  else
    captured_.erase(stream);
}

bool Device::captures(const void* stream) const {
  const std::lock_guard lock(mutex_);
  return captured_.contains(stream);
}

bool Device::captures_any() const {
  const std::lock_guard lock(mutex_);
  return !captured_.empty();
}

void Device::note_spoilt_capture() {
  const std::lock_guard lock(mutex_);
  ++spoilt_captures_;
}

void Device::add(std::uint64_t Counts::* count, std::uint64_t by) {
  const std::lock_guard lock(mutex_);
  counts_.*count += by;
}

void Device::loop() {
  for (;;) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !queue_.empty(); });
    std::vector<Queued> together{take()};
    while (awaits_apart(lock, together[0])) together.push_back(take());
    lock.unlock();
    run(together);
    lock.lock();
    finished_ += together.size();
    lock.unlock();
    changed_.notify_all();
  }
}

Device::Queued Device::take() {
  const Queued queued = queue_.front();
  queue_.pop_front();
  return queued;
}

bool Device::awaits_apart(std::unique_lock<std::mutex>& lock,
                          const Queued& first) {
  if (first.launch.mode == abi::kResident) return false;
  if (mixes_.load())
    changed_.wait_for(lock, microseconds(50),
                      [this] { return !queue_.empty(); });
  return !queue_.empty() && queue_.front().launch.mode != abi::kResident &&
         queue_.front().launch.is_independent != 0;
}

void Device::run(const std::vector<Queued>& together) {
  if (together[0].launch.mode == abi::kResident) {
    add(&Counts::residencies);
    stay(together[0].launch);
    return;
  }
  // A separate burst may run before the bursts that it overlaps, but they end
  // in order.
  for (auto queued = together.rbegin(); queued != together.rend(); ++queued)
    run(*queued);
  for (const Queued& queued : together) {
    if (queued.launch.signal != 0)
      finish(queued.launch.queue, queued.launch.begin);
  }
}

void Device::run(const Queued& burst) {
  if (burst.is_behind) {
    const std::lock_guard lock(mutex_);
    ++counts_.bursts_behind;
    counts_.longest_behind = std::max(
        counts_.longest_behind,
        std::chrono::duration_cast<microseconds>(Clock::now() - burst.since));
  }
  add(&Counts::bursts);
  if (burst.launch.is_independent != 0) add(&Counts::bursts_independent);
  run_burst(burst.launch);
}

void Device::stay(const abi::Launch& launch) {
  const abi::Queue& queue = launch.queue;
  u64 position = launch.state->ticket;
  const auto start = Clock::now();
  auto idle_since = start;
  const auto must_leave = [&] {
    const auto now = Clock::now();
    return peek(&launch.state->park) >= launch.residency ||
           now - start >= nanoseconds(launch.lease_ns) ||
           now - idle_since >= nanoseconds(launch.linger_ns);
  };
  // As in worker.cu, even a busy worker looks whether it must leave.
  while (!must_leave()) {
    const u32 place = place_of(queue, position);
    const abi::Descriptor& descriptor = queue.descriptors[place];
    if (!is_there(descriptor, abi::lap_tag(position, queue.capacity_bits))) {
      std::this_thread::yield();
      continue;
    }
    const abi::Payload payload = payload_of(descriptor);
    check_waits(queue, payload, position);
    const abi::ArgBlock& block = block_of(queue, payload, position);
    run_task(queue, payload, args_of(payload, block).data(), position);
    if (payload.batch_offset + 1 == payload.batch_size)
      finish(queue, position - payload.batch_offset);
    ++position;
    idle_since = Clock::now();
  }
  launch.state->ticket = position;
  {
    const std::lock_guard lock(mutex_);
    --staying_;
  }
  // Pairs with the acquire load in ResidentWorkers::has_left().
  std::atomic_ref(*launch.left)
      .store(launch.residency, std::memory_order_release);
}

void Device::run_burst(const abi::InlineLaunch& launch) {
  const abi::Queue& queue = launch.queue;
  const bool is_tiled = launch.mode == abi::kTiledBurst;
  const bool is_inline = is_tiled || launch.mode == abi::kInlineBurst;
  const u64 tasks = is_inline ? launch.inline_count : launch.end - launch.begin;
  for (u64 turn = 0; turn < tasks; ++turn) {
    // None of them waits for another one.
    const u64 i = mixes_.load() && !is_tiled ? tasks - 1 - turn : turn;
    const u32 place = place_of(queue, launch.begin + i);
    if (is_tiled) {
      run_task(queue, tile_of(launch.tiled, i), launch.tiled.args,
               launch.begin + i);
      continue;
    }
    const abi::Payload payload = payload_of(
        is_inline ? launch.descriptors[i] : queue.descriptors[place]);
    abi::ArgBlock block{};
    if ((payload.flags & abi::kArgsInBlock) != 0) {
      if (is_inline)
        std::memcpy(&block, launch.descriptors + payload.args[1],
                    payload.args[0] * sizeof(u64));
      else
        block = block_of(queue, payload, launch.begin + i);
    }
    run_task(queue, payload, args_of(payload, block).data(), launch.begin + i);
  }
  add(&Counts::burst_tasks, tasks);
  if (is_tiled && tasks > 1) add(&Counts::tiled, tasks);
}

GPUOS_UNCHECKED void Device::run_chain(const abi::Queue& queue,
                                       const abi::Payload& payload,
                                       u64 position) {
  const auto* members =
      reinterpret_cast<const abi::Member*>(payload.args[abi::kChainBlock]);
  for (u32 i = 0; i < payload.count;) {
    const abi::Member& member = members[i];
    if (peek(&member.op) == abi::kGap) {
      i = abi::next_piece(i);
      continue;
    }
    if ((payload.flags & abi::kTraced) != 0) mark_started(queue, position, i);
    add(&Counts::tasks);
    add(&Counts::chained);
    const u64* args = member.args;
    const std::array<u64, 4> own{peek(args), peek(args + 1), peek(args + 2),
                                 peek(args + 3)};
    i += abi::chain_records(peek(&member.arg_count));
    // The last one, so that those before it are seen to begin.
    if ((payload.flags & abi::kTraced) != 0 && i >= payload.count)
      wait_if_held();
    apply(buffers_of(peek(&member.op), own.data()));
  }
}

void Device::run_task(const abi::Queue& queue, const abi::Payload& payload,
                      const u64* args, u64 position) {
  if (abi::is_chain(payload.flags)) return run_chain(queue, payload, position);
  if ((payload.flags & abi::kTraced) != 0) {
    mark_started(queue, position, 0);
    wait_if_held();
  }
  add(&Counts::tasks);
  if ((payload.flags & abi::kJoin) != 0) return;
  if (payload.flags >> abi::kTileShift != 0) {
    if (!std::equal(tile_args_.begin(), tile_args_.end(), args))
      add(&Counts::stray_tiles);
    return;
  }
  std::copy_n(args, tile_args_.size(), tile_args_.begin());
  apply(buffers_of(payload.op, args));
}

// The host may have copied the memory before it wrote the descriptor.
GPUOS_UNCHECKED void Device::apply(const u64* args) {
  u32* out = reinterpret_cast<u32*>(args[0]);
  if (!mixes_.load()) {
    ++*out;
    return;
  }
  const u32* a = reinterpret_cast<const u32*>(args[1]);
  const u32* b = reinterpret_cast<const u32*>(args[2]);
  *out = 31 * *out + *a + 7 * *b;
}

void Device::check_waits(const abi::Queue& queue, const abi::Payload& payload,
                         u64 position) {
  std::array<u16, abi::kMaxJoined> distances{};
  if ((payload.flags & abi::kJoin) != 0)
    std::memcpy(distances.data(), payload.args,
                payload.parts * sizeof(distances[0]));
  else
    distances[0] = payload.wait_distance;
  for (const u16 distance : distances) {
    const u64 begin = position - distance;
    const u32 done = peek(queue.done + place_of(queue, begin));
    const u32 tag = abi::lap_tag(begin, queue.capacity_bits);
    if (distance != 0 && static_cast<int>(done - tag) < 0)
      add(&Counts::unmet_waits);
  }
}

void Device::mark_started(const abi::Queue& queue, u64 position, u32 record) {
  const u32 tag = abi::lap_tag(position, queue.capacity_bits);
  std::atomic_ref(queue.started[place_of(queue, position)])
      .store(abi::started_word(tag, record), std::memory_order_relaxed);
}

void Device::wait_if_held() {
  const auto set_held = [this](bool is_held) {
    const std::lock_guard lock(mutex_);
    counts_.holds_task = is_held;
  };
  if (!holds_.load()) return;
  set_held(true);
  while (holds_.load()) std::this_thread::sleep_for(microseconds(100));
  set_held(false);
}

}  // namespace gpuos::sim

extern "C" __attribute__((visibility("default"))) gpuos::sim::Simulator*
gpuos_simulator() {
  return &gpuos::sim::Device::instance();
}
