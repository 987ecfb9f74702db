#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "device/fault.h"
#include "gpuos/ticket.h"
#include "queue/backend.h"
#include "queue/call.h"
#include "queue/checked_operator.h"

namespace gpuos {

/// What tasks of checked operators have said of their failures, by submission.
/// Each has a Fault of its own as long as it is pending. Bounded: the oldest
/// failures are forgotten first.
///
/// Threads: attach() needs the submit lock, the others none.
class FaultTable {
 public:
  static constexpr std::size_t kMaxFailures = 4096;

  explicit FaultTable(Backend& backend) : backend_(backend) {}

  /// Puts behind the arguments of `call` what a checked task is given. `end`:
  /// that of the submission's ticket. `last`: where its last batch begins.
  void attach(Call& call, const Route& route, std::uint64_t end,
              std::uint64_t last, bool is_many);

  /// Throws: TaskError if the tasks of `ticket`, which are done, failed. Takes
  /// no lock where nothing checked was ever submitted.
  void check(const Ticket& ticket) {
    if (is_used()) check_used(ticket);
  }
  /// Throws: TaskError for the first failure that nobody was told of; tells
  /// how many more there are and counts them as told.
  void check_untold() {
    if (is_used()) check_used();
  }

 private:
  using OperatorPtr = std::shared_ptr<const CheckedOperator>;
  struct Pending {
    std::uint64_t last = 0;
    abi::Fault* fault = nullptr;
    OperatorPtr op;
  };
  struct Failure {
    std::uint32_t ring;
    std::uint64_t end;
    std::string operator_name;
    std::string message;
    bool is_told = false;
  };
  /// Of one ring, by where the submission ends.
  using Submissions = std::map<std::uint64_t, Pending>;

  /// Who has a ticket of a checked task came by it after attach().
  bool is_used() const noexcept {
    return is_used_.load(std::memory_order_relaxed);
  }
  void check_used(const Ticket& ticket);
  void check_used();

  // The lock is held.

  abi::Fault* take();
  /// That of tasks in a graph, which may run again at any time: one for each
  /// slot of the operator table.
  abi::Fault* captured(std::uint32_t slot, const OperatorPtr& op);
  bool is_done(std::uint32_t ring, std::uint64_t end,
               const Pending& pending) const;
  void settle(std::uint32_t ring, std::uint64_t end, const Pending& pending);
  /// Those that are done before one that is not.
  void settle_first(std::uint32_t ring, Submissions& submissions);
  void settle_all();
  void note(std::uint32_t ring, std::uint64_t end, abi::Fault& fault,
            const CheckedOperator& op);
  [[noreturn]] static void tell(Failure& failure, std::size_t more);

  Backend& backend_;
  std::atomic<bool> is_used_{false};
  std::mutex mutex_;
  std::vector<abi::Fault*> free_;
  bool is_filled_ = false;  // free_ had all of the backend's
  std::map<std::uint32_t, Submissions> pending_;   // by ring
  std::map<std::uint32_t, OperatorPtr> captured_;  // by slot
  std::deque<Failure> failures_;
};

}  // namespace gpuos
