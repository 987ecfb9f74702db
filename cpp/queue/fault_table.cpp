#include "queue/fault_table.h"

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>

#include "base/concat.h"
#include "device/fault.h"
#include "gpuos/error.h"
#include "queue/operator_record.h"

namespace gpuos {
namespace {

static_assert(abi::kOtherType >= kDTypeCount, "the number of none");

std::string type_name(std::uint32_t type) {
  return type < kDTypeCount ? std::string(name_of(static_cast<DType>(type)))
                            : "another type";
}

std::string label(const abi::Fault& fault, const CheckedOperator& op,
                  std::uint32_t buffers) {
  const std::uint32_t index = fault.argument;
  std::string name;
  if (fault.kind != abi::kIndexFault && index >= buffers)
    name = op.params[index - buffers].name;
  else if (index < op.names.size())
    name = op.names[index];
  if (name.empty()) name = index == 0 ? "out" : concat("input ", index - 1);
  return concat("argument ", index, " ('", name, "')");
}

std::string access(const abi::Fault& fault, const CheckedOperator& op) {
  const bool is_buffer = fault.argument < fault.buffers;
  const std::string as = type_name(fault.type);
  const std::string is = std::string(name_of(
      is_buffer ? op.dtype : op.params[fault.argument - fault.buffers].dtype));
  const bool is_read_as_buffer = fault.kind == abi::kPointerFault;
  const auto noun = [](bool is_array) {
    return is_array ? "an array of " : "a scalar of ";
  };
  return concat(label(fault, op, fault.buffers), ": read as ",
                noun(is_read_as_buffer), as, ", but it is ", noun(is_buffer),
                is);
}

std::string what(const abi::Fault& fault, const CheckedOperator& op) {
  const std::size_t arguments = fault.buffers + op.params.size();
  switch (fault.kind) {
    case abi::kIndexFault:
      return concat(label(fault, op, 0), ": index ", fault.index,
                    " is outside of its ", fault.extent, " elements");
    case abi::kAssertFault:
      return concat("assertion '", fault.text, "' failed");
    default:
      if (fault.argument < arguments) return access(fault, op);
      return concat("argument ", fault.argument, ": there are ", arguments,
                    " arguments");
  }
}

/// Returns the message of a TaskError for `fault`.
std::string message_of(const abi::Fault& fault, const CheckedOperator& op) {
  return concat("operator '", op.name,
                fault.kind == abi::kAssertFault ? "': " : "', ",
                what(fault, op), " (line ", fault.line, " of its source)");
}

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
    // The accesses of many tasks are as long as each task. An empty array has
    // no access.
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

void FaultTable::make_room() {
  std::vector<Queue> queues;
  std::size_t faults = abi::kSlots;
  for (const Ring* ring : backend_.traits().rings) {
    Queue& queue = queues.emplace_back();
    queue.pending.resize(ring->capacity());
    queue.faults = std::exchange(faults, faults + ring->capacity());
  }
  std::vector<OperatorPtr> captured(abi::kSlots);
  std::vector<Failure> failures(kMaxFailures);
  const std::lock_guard lock(mutex_);
  if (!queues_.empty()) return;
  queues_ = std::move(queues);
  captured_ = std::move(captured);
  failures_ = std::move(failures);
}

void FaultTable::attach(Call& call, const Route& route, std::uint64_t begin,
                        std::uint64_t end, bool is_many) {
  const OperatorRecord& op = *call.op;
  const OperatorPtr checked = op.checked.load();
  const std::size_t words =
      checked_words(op.inputs, op.params.size(), op.elementwise);
  // Unused words must still have defined values, because they are copied.
  std::fill(call.args.begin() + call.arg_count, call.args.begin() + words, 0);
  if (!op.elementwise) write_extents(call, words, is_many);
  call.arg_count = static_cast<std::uint32_t>(words);

  const bool is_captured =
      route.stream != nullptr && backend_.captures(Stream(route.stream));
  const std::lock_guard lock(mutex_);
  abi::Fault* fault = nullptr;
  if (is_captured) {
    captured_[call.slot] = checked;
    fault = &backend_.faults()[call.slot];
  } else {
    settle_first(route.ring);
    Queue& queue = queues_[route.ring];
    fault = &fault_of(queue, queue.next);
    queue.at(queue.next++) = {begin, end, checked};
  }
  call.args[words - 1] = reinterpret_cast<std::uint64_t>(fault) |
                         std::uint64_t{call.buffers} << abi::kBuffersAt;
}

abi::Fault& FaultTable::fault_of(const Queue& queue, std::uint64_t number) {
  return backend_.faults()[queue.faults + number % queue.pending.size()];
}

bool FaultTable::is_done(std::uint32_t ring, const Pending& pending) const {
  const Ring& of = *backend_.traits().rings[ring];
  if (of.completed() >= pending.end) return true;
  // Batches of one submission are done in any order.
  for (std::uint64_t n = pending.begin; n < pending.end; n += of.max_batch()) {
    if (!of.is_done(n)) return false;
  }
  return true;
}

void FaultTable::settle(std::uint32_t ring, std::uint64_t number) {
  Queue& queue = queues_[ring];
  Pending& pending = queue.at(number);
  abi::Fault& fault = fault_of(queue, number);
  if (state_of(fault) == abi::kFault)
    note(ring, pending.end, fault, pending.op);
  clear(fault);
  pending.op = nullptr;
}

void FaultTable::settle_first(std::uint32_t ring) {
  Queue& queue = queues_[ring];
  for (; queue.first < queue.next; ++queue.first) {
    const Pending& pending = queue.at(queue.first);
    if (pending.op == nullptr) continue;
    if (!is_done(ring, pending)) return;
    settle(ring, queue.first);
  }
}

void FaultTable::settle_all() {
  for (std::uint32_t ring = 0; ring < queues_.size(); ++ring) {
    settle_first(ring);
    // Bursts of other streams may be done before the first is.
    for (std::uint64_t n = queues_[ring].first; n < queues_[ring].next; ++n) {
      const Pending& pending = queues_[ring].at(n);
      if (pending.op != nullptr && is_done(ring, pending)) settle(ring, n);
    }
  }
}

void FaultTable::note(std::uint32_t ring, std::uint64_t end, abi::Fault& fault,
                      const OperatorPtr& op) {
  failures_[failed_++ % kMaxFailures] = {ring, end, op, fault, false};
}

void FaultTable::tell(const Failure& failure, std::size_t more) {
  const std::string message = message_of(failure.fault, *failure.op);
  throw TaskError(
      failure.op->name,
      more == 0 ? message
                : concat(message, " (and ", more,
                         more == 1 ? " more submission" : " more submissions",
                         " failed)"));
}

void FaultTable::check(const Ticket& ticket) {
  std::unique_lock lock(mutex_);
  if (queues_.empty()) return;
  Queue& queue = queues_[ticket.ring];
  for (std::uint64_t n = queue.next; n-- > queue.first;) {
    const Pending& pending = queue.at(n);
    if (pending.end > ticket.end) continue;
    if (pending.end == ticket.end && pending.op != nullptr &&
        is_done(ticket.ring, pending))
      settle(ticket.ring, n);
    break;
  }
  const std::uint64_t count = std::min<std::uint64_t>(failed_, kMaxFailures);
  for (std::uint64_t n = failed_ - count; n < failed_; ++n) {
    Failure& failure = failures_[n % kMaxFailures];
    if (failure.ring != ticket.ring || failure.end != ticket.end) continue;
    failure.is_told = true;
    const Failure told = failure;
    lock.unlock();
    tell(told, 0);
  }
}

void FaultTable::check_untold() {
  std::unique_lock lock(mutex_);
  if (queues_.empty()) return;
  settle_all();
  for (std::uint32_t slot = 0; slot < captured_.size(); ++slot) {
    if (captured_[slot] == nullptr) continue;
    abi::Fault& fault = backend_.faults()[slot];
    if (state_of(fault) != abi::kFault) continue;
    note(kNoRing, 0, fault, captured_[slot]);
    clear(fault);
  }
  std::optional<Failure> first;
  std::size_t more = 0;
  const std::uint64_t count = std::min<std::uint64_t>(failed_, kMaxFailures);
  for (std::uint64_t n = failed_ - count; n < failed_; ++n) {
    Failure& failure = failures_[n % kMaxFailures];
    if (std::exchange(failure.is_told, true)) continue;
    if (first)
      ++more;
    else
      first = failure;
  }
  lock.unlock();
  if (first) tell(*first, more);
}

}  // namespace gpuos
