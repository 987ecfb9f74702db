#include "queue/fault_table.h"

#include <algorithm>
#include <atomic>

#include "base/concat.h"
#include "gpuos/error.h"
#include "queue/fault_message.h"

namespace gpuos {
namespace {

/// The ring of failures that belong to no ticket.
constexpr std::uint32_t kNoRing = ~std::uint32_t{0};

std::uint32_t state_of(abi::Fault& fault) noexcept {
  // Pairs with Notes::publish() of device/checked_pointer.h.
  return std::atomic_ref(fault.state).load(std::memory_order_acquire);
}

void clear(abi::Fault& fault) noexcept {
  // The next task that gets it comes by way of its descriptor.
  std::atomic_ref(fault.state).store(abi::kNoFault, std::memory_order_relaxed);
}

/// Elements of each buffer, in the words before the last.
void write_extents(Call& call, std::size_t words, bool is_many) {
  const std::uint64_t elem_bytes = size_of(call.dtype);
  const Access* access = call.accesses.data();
  for (std::uint32_t k = 0; k < call.buffers; ++k) {
    std::uint64_t& elements = call.args[words - 2 - k];
    // Those of many tasks are as long as each task is; an empty array has no
    // access.
    if (is_many) {
      elements = abi::kAsTask;
    } else if (call.args[k] == 0) {
      elements = 0;
    } else {
      elements = (access->high - access->low) / elem_bytes;
      ++access;
    }
  }
}

}  // namespace

void FaultTable::attach(Call& call, const Route& route, std::uint64_t end,
                        std::uint64_t last, bool is_many) {
  is_used_.store(true, std::memory_order_relaxed);
  const OperatorRecord& op = *call.op;
  const OperatorPtr checked = op.checked.load();
  const std::size_t words =
      checked_words(op.inputs, op.params.size(), op.elementwise);
  // Words that nobody reads must not be copied from nowhere.
  std::fill(call.args.begin() + call.arg_count, call.args.begin() + words, 0);
  if (!op.elementwise) write_extents(call, words, is_many);
  call.arg_count = static_cast<std::uint32_t>(words);

  const bool is_captured =
      route.stream != nullptr && backend_.captures(Stream(route.stream));
  const std::lock_guard lock(mutex_);
  abi::Fault* fault = is_captured ? captured(call.slot, checked) : take();
  if (!is_captured) pending_[route.ring][end] = {last, fault, checked};
  call.args[words - 1] = reinterpret_cast<std::uint64_t>(fault) |
                         std::uint64_t{call.buffers} << abi::kBuffersAt;
}

abi::Fault* FaultTable::take() {
  if (!is_filled_) {
    is_filled_ = true;
    const auto faults = backend_.faults();
    for (abi::Fault& fault : faults.subspan(abi::kSlots))
      free_.push_back(&fault);
  }
  for (auto& [ring, submissions] : pending_) settle_first(ring, submissions);
  if (free_.empty()) settle_all();
  // A pending submission has a place of its own in a ring, and there are as
  // many faults as places.
  abi::Fault* fault = free_.back();
  free_.pop_back();
  return fault;
}

abi::Fault* FaultTable::captured(std::uint32_t slot, const OperatorPtr& op) {
  captured_.try_emplace(slot, op);
  return &backend_.faults()[slot];
}

bool FaultTable::is_done(std::uint32_t ring, std::uint64_t end,
                         const Pending& pending) const {
  const Ring& of = *backend_.traits().rings[ring];
  return of.completed() >= end || of.is_done(pending.last);
}

void FaultTable::settle(std::uint32_t ring, std::uint64_t end,
                        const Pending& pending) {
  if (state_of(*pending.fault) == abi::kFault)
    note(ring, end, *pending.fault, *pending.op);
  clear(*pending.fault);
  free_.push_back(pending.fault);
}

void FaultTable::settle_first(std::uint32_t ring, Submissions& submissions) {
  while (!submissions.empty()) {
    const auto first = submissions.begin();
    if (!is_done(ring, first->first, first->second)) return;
    settle(ring, first->first, first->second);
    submissions.erase(first);
  }
}

void FaultTable::settle_all() {
  for (auto& [ring, submissions] : pending_) {
    // clang before 16 takes no structured binding by reference.
    std::erase_if(submissions, [&, ring = ring](const auto& entry) {
      if (!is_done(ring, entry.first, entry.second)) return false;
      settle(ring, entry.first, entry.second);
      return true;
    });
  }
}

void FaultTable::note(std::uint32_t ring, std::uint64_t end, abi::Fault& fault,
                      const CheckedOperator& op) {
  if (failures_.size() == kMaxFailures) failures_.pop_front();
  failures_.push_back({ring, end, op.name, message_of(fault, op)});
}

void FaultTable::tell(Failure& failure, std::size_t more) {
  failure.is_told = true;
  throw TaskError(
      failure.operator_name,
      more == 0 ? failure.message
                : concat(failure.message, " (and ", more,
                         more == 1 ? " more submission" : " more submissions",
                         " failed)"));
}

void FaultTable::check_used(const Ticket& ticket) {
  const std::lock_guard lock(mutex_);
  Submissions& submissions = pending_[ticket.ring];
  const auto found = submissions.find(ticket.end);
  if (found != submissions.end() &&
      is_done(ticket.ring, ticket.end, found->second)) {
    settle(ticket.ring, ticket.end, found->second);
    submissions.erase(found);
  }
  for (Failure& failure : failures_) {
    if (failure.ring == ticket.ring && failure.end == ticket.end)
      tell(failure, 0);
  }
}

void FaultTable::check_used() {
  const std::lock_guard lock(mutex_);
  settle_all();
  for (const auto& [slot, op] : captured_) {
    abi::Fault& fault = backend_.faults()[slot];
    if (state_of(fault) != abi::kFault) continue;
    note(kNoRing, 0, fault, *op);
    clear(fault);
  }
  Failure* first = nullptr;
  std::size_t more = 0;
  for (Failure& failure : failures_) {
    if (failure.is_told) continue;
    failure.is_told = true;
    if (first == nullptr)
      first = &failure;
    else
      ++more;
  }
  if (first != nullptr) tell(*first, more);
}

}  // namespace gpuos
