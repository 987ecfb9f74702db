#include "host/shared.h"

#include <algorithm>

#include "base/concat.h"
#include "gpuos/error.h"
#include "queue/chain_blocks.h"

namespace gpuos::host {
namespace {

// The waiting thread runs at most this many tasks before another is awake.
constexpr std::uint64_t kFewTasks = 16;
constexpr int kSlotBits = 16;

std::uint64_t now_ms() {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(
          std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

}  // namespace

void FailureLog::add(std::uint64_t begin, const std::string& operator_name,
                     const std::string& message) {
  const std::lock_guard lock(mutex_);
  failures_.try_emplace(begin, Failure{operator_name, message});
  if (failures_.size() > kMaxFailures) failures_.erase(failures_.begin());
  // Pairs with the load in check(). The batch's done word comes after it.
  has_any_.store(true, std::memory_order_release);
}

void FailureLog::throw_if_failed(std::uint64_t begin) {
  const std::lock_guard lock(mutex_);
  const auto found = failures_.find(begin);
  if (found == failures_.end()) return;
  found->second.is_told = true;
  throw TaskError(found->second.operator_name, found->second.message);
}

void FailureLog::check_untold() {
  if (!has_any_.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(mutex_);
  const Failure* first = nullptr;
  std::size_t more = 0;
  for (auto& [begin, failure] : failures_) {
    if (failure.is_told) continue;
    failure.is_told = true;
    if (first == nullptr) {
      first = &failure;
    } else {
      ++more;
    }
  }
  if (first == nullptr) return;
  throw TaskError(
      first->operator_name,
      more == 0
          ? first->message
          : concat(first->message, " (and ", more,
                   more == 1 ? " more batch" : " more batches", " failed)"));
}

void WorkerState::begin_traced(std::uint32_t slot) noexcept {
  traced.store((now_ms() + 1) << kSlotBits | slot, std::memory_order_relaxed);
}

std::optional<std::uint32_t> WorkerState::find_overrun(
    std::chrono::milliseconds limit) const noexcept {
  const std::uint64_t now_traced = traced.load(std::memory_order_relaxed);
  if (now_traced == 0) return std::nullopt;
  const std::uint64_t since = (now_traced >> kSlotBits) - 1;
  if (now_ms() <= since + static_cast<std::uint64_t>(limit.count()))
    return std::nullopt;
  return static_cast<std::uint32_t>(now_traced & ((1u << kSlotBits) - 1));
}

Shared::Shared(std::uint32_t capacity, const Processors& processors,
               std::chrono::nanoseconds linger_time,
               std::uint64_t first_position)
    : storage(capacity),
      chain_memory(
          new abi::Member[ChainBlocks::kBytes / sizeof(abi::Member)]()),
      ring(storage.memory(), capacity, first_position),
      idle(processors.workers),
      linger(linger_time),
      // One processor is left to the submitting thread.
      max_polling(processors.usable - 1),
      states(processors.workers),
      counts(new std::atomic<std::uint32_t>[capacity]()),
      orders(new std::atomic<std::uint64_t>[capacity]()),
      published(first_position),
      ticket(first_position) {
  // Writes the state of a finished lap before the first one.
  std::fill_n(storage.memory().done, capacity, ring.tag_of(first_position) - 1);
}

bool Shared::publish(std::uint64_t end, bool is_little) {
  // Pairs with the loads in Worker::claim_tasks() and has_ready_work().
  published.store(end, std::memory_order_seq_cst);
  if (idle.is_attended() || !has_ready_work()) return true;
  if (is_soon_awaited(end, is_little)) return false;
  idle.wake_one();
  return true;
}

bool Shared::is_soon_awaited(std::uint64_t end, bool is_little) const noexcept {
  // A thread that waits leaves these tasks to workers.
  if (has_traced()) return false;
  // A woken thread could only run instead of the submitting one.
  if (max_polling == 0) return true;
  return is_little && awaited.load(std::memory_order_relaxed) &&
         end - ticket.load(std::memory_order_relaxed) <= kFewTasks;
}

bool Shared::has_work() const noexcept {
  return ticket.load(std::memory_order_seq_cst) <
         published.load(std::memory_order_seq_cst);
}

bool Shared::is_ready(std::uint64_t position) const noexcept {
  constexpr std::uint64_t kDistances = (1u << kDistanceBits) - 1;
  const std::uint64_t order =
      orders[ring.place_of(position)].load(std::memory_order_relaxed);
  const std::uint64_t distance = order & kDistances;  // 0: none was noted
  return order >> kDistanceBits != position || distance == 0 ||
         is_done_ordered(position - distance);
}

bool Shared::has_ready_work() const noexcept {
  const std::uint64_t next = ticket.load(std::memory_order_seq_cst);
  return next < published.load(std::memory_order_seq_cst) && is_ready(next);
}

bool Shared::is_done_ordered(std::uint64_t begin) const noexcept {
  const std::uint32_t done =
      std::atomic_ref(storage.memory().done[ring.place_of(begin)])
          .load(std::memory_order_seq_cst);
  return static_cast<std::int32_t>(done - ring.tag_of(begin)) >= 0;
}

void Shared::stop() {
  stopping.store(true, std::memory_order_seq_cst);
  idle.close();
  waiters.wake_all();
}

std::optional<std::uint32_t> Shared::find_overrun(
    std::chrono::milliseconds limit) const {
  for (const WorkerState& state : states) {
    if (const auto slot = state.find_overrun(limit)) return slot;
  }
  return std::nullopt;
}

}  // namespace gpuos::host
