#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/quick_mutex.h"
#include "device/fault.h"
#include "gpuos/ticket.h"
#include "queue/backend.h"
#include "queue/call.h"
#include "queue/operator_record.h"

namespace gpuos {

/// The failures of tasks of checked operators, by submission. Each pending task
/// has its own Fault. The number is bounded, and the oldest failures are
/// dropped first.
///
/// Threads: attach() needs the submit lock, the others none.
class FaultTable {
 public:
  static constexpr std::size_t kMaxFailures = 4096;

  explicit FaultTable(Backend& backend) : backend_(backend) {}

  /// Must be called before the first checked operator exists. attach() runs
  /// under a spin lock, so it must not allocate.
  void make_room();

  /// Adds the words of a checked task after the arguments of `call`. `begin`
  /// and `end` are those of the submission's ticket.
  void attach(Call& call, const Route& route, std::uint64_t begin,
              std::uint64_t end, bool is_many);

  /// Throws: TaskError if the tasks of `ticket`, which are done, failed.
  void check(const Ticket& ticket);
  /// Throws TaskError for the first unreported failure, with the number of the
  /// others, and marks all as reported.
  void check_untold();

 private:
  using OperatorPtr = std::shared_ptr<const CheckedOperator>;
  struct Pending {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    OperatorPtr op;  // null: its fault was looked at
  };
  /// Submissions to one ring, in order. There are at most as many as the ring
  /// has places, because finished ones are removed before the next one.
  struct Queue {
    std::vector<Pending> pending;  // place n % size() is that of number n
    std::uint64_t first = 0;
    std::uint64_t next = 0;
    std::size_t faults = 0;  // index of the first fault of the places

    Pending& at(std::uint64_t number) {
      return pending[number % pending.size()];
    }
  };
  struct Failure {
    std::uint32_t ring = 0;
    std::uint64_t end = 0;
    OperatorPtr op;
    abi::Fault fault{};
    bool is_told = false;
  };

  // mutex_ is held.

  abi::Fault& fault_of(const Queue& queue, std::uint64_t number);
  bool is_done(std::uint32_t ring, const Pending& pending) const;
  void settle(std::uint32_t ring, std::uint64_t number);
  /// Settles the finished tasks, up to the first unfinished one.
  void settle_first(std::uint32_t ring);
  void settle_all();
  void note(std::uint32_t ring, std::uint64_t end, abi::Fault& fault,
            const OperatorPtr& op);

  /// mutex_ is not held. `more`: submissions that failed too.
  [[noreturn]] static void tell(const Failure& failure, std::size_t more);

  Backend& backend_;
  QuickMutex mutex_;
  std::vector<Queue> queues_;  // of each ring; none: nothing is checked
  // The operators of tasks in a graph, which may run again at any time. They
  // have one Fault for each slot of the operator table.
  std::vector<OperatorPtr> captured_;
  std::vector<Failure> failures_;  // place n % kMaxFailures is number n's
  std::uint64_t failed_ = 0;
};

}  // namespace gpuos
