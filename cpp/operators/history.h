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

/// Holds the code of a version of an operator. A version that rolls back to it
/// shares it.
struct OperatorCode {
  OperatorCode() { slots.fill(OperatorRecord::kNoSlot); }

  std::array<std::int32_t, kDTypeCount> slots;
  std::shared_ptr<const expression::Body> body;
  std::shared_ptr<const CheckedOperator> checked;
  // The record has the parameters of the version. Null stands for the name's
  // own record.
  std::shared_ptr<OperatorRecord> variant;
  std::vector<Parameter> params;
  std::string expression;
  std::string source;
  std::string symbol;
  std::shared_ptr<const OperatorDefinition> definition;
  bool is_builtin = false;  // its slots are never given back

  Slots used_slots() const;
};

/// Holds the versions of one operator that are kept. The newest is current.
///
/// Threads: any thread may call list(). All other functions need the registry's
/// lock.
class OperatorHistory {
 public:
  using Code = std::shared_ptr<OperatorCode>;
  struct Version {
    std::uint64_t number = 0;
    Code code;
    std::uint64_t before = 0;  // target of rollback(), or 0
  };

  explicit OperatorHistory(Code first) { add(std::move(first), 0); }

  const Version& current() const { return kept_.back(); }
  /// Returns an earlier version. Throws: InvalidArgument if it is not kept, or
  /// if there is none before.
  const Version& earlier(const std::string& name, std::uint64_t number) const;
  std::uint64_t replace(Code code) {
    return add(std::move(code), current().number);
  }
  /// Makes a new version of an earlier one's code.
  std::uint64_t take_back(const Version& earlier) {
    return add(earlier.code, earlier.before);
  }
  std::vector<OperatorVersion> list() const;
  /// Returns the current version, or nothing once the versions are forgotten.
  std::optional<OperatorVersion> newest() const;

  /// Returns how many slots the versions have that are not current.
  std::size_t old_slots() const;
  /// Forgets the oldest versions until `most` are kept. Returns slots that no
  /// kept version names.
  Slots keep(std::size_t most);
  Slots forget_all();
  std::size_t size() const noexcept { return kept_.size(); }
  /// Gives the current code another slot for one dtype.
  void set_slot(std::size_t dtype, std::int32_t slot) {
    kept_.back().code->slots[dtype] = slot;
  }

 private:
  std::uint64_t add(Code code, std::uint64_t before);
  OperatorVersion shown(const Version& version) const;  // mutex_ held

  mutable std::mutex mutex_;  // protects the data that list() reads
  std::deque<Version> kept_;
  std::uint64_t last_ = 0;
};

}  // namespace gpuos
