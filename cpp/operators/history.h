#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "gpuos/operator.h"
#include "queue/operator_record.h"

namespace gpuos {

using Slots = std::vector<std::uint32_t>;

/// The code of a version of an operator. A version that rolls back to it shares
/// it.
struct OperatorCode {
  OperatorCode() { slots.fill(OperatorRecord::kNoSlot); }

  std::array<std::int32_t, kDTypeCount> slots;
  std::shared_ptr<const expression::Body> body;
  std::shared_ptr<const CheckedOperator> checked;
  // The record with the parameters of the version. Null stands for the name's
  // own.
  std::shared_ptr<OperatorRecord> variant;
  std::vector<Parameter> params;
  std::string expression;
  std::string source;
  std::string symbol;
  std::shared_ptr<const OperatorDefinition> definition;
  bool is_builtin = false;  // its slots are never given back

  Slots used_slots() const;
};

/// The versions of one operator that are kept, the newest of which is current.
///
/// Threads: any list() them; for the rest the registry's lock is held.
class OperatorHistory {
 public:
  using Code = std::shared_ptr<OperatorCode>;
  struct Version {
    std::uint64_t number = 0;
    Code code;
    std::uint64_t before = 0;  // what rollback() goes to; 0: nothing
  };

  explicit OperatorHistory(Code first) { add(std::move(first), 0); }

  const Version& current() const { return kept_.back(); }
  /// Throws: InvalidArgument if it is not kept, or there is none before.
  const Version& earlier(const std::string& name, std::uint64_t number) const;
  std::uint64_t replace(Code code) {
    return add(std::move(code), current().number);
  }
  /// A new version of what an earlier one runs.
  std::uint64_t take_back(const Version& earlier) {
    return add(earlier.code, earlier.before);
  }
  std::vector<OperatorVersion> list() const;
  /// The current one of them; none once they are forgotten.
  std::optional<OperatorVersion> newest() const;

  /// How many slots those have that are not current.
  std::size_t old_slots() const;
  /// Forgets the oldest until `most` are kept; returns slots that nobody of
  /// them names any more.
  Slots keep(std::size_t most);
  Slots forget_all();
  std::size_t size() const noexcept { return kept_.size(); }
  /// The current code has another slot for one dtype.
  void set_slot(std::size_t dtype, std::int32_t slot) {
    kept_.back().code->slots[dtype] = slot;
  }

 private:
  std::uint64_t add(Code code, std::uint64_t before);
  OperatorVersion shown(const Version& version) const;  // mutex_ held

  mutable std::mutex mutex_;  // of what list() sees
  std::deque<Version> kept_;
  std::uint64_t last_ = 0;
};

}  // namespace gpuos
