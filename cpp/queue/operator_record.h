#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "device/builtin_list.h"
#include "device/task_abi.h"
#include "gpuos/error.h"
#include "gpuos/operator.h"

namespace gpuos {

/// The names in messages about a checked operator.
struct CheckedOperator {
  std::string name;
  DType dtype = DType::Float32;    // of its buffers
  std::vector<std::string> names;  // of its buffers; may be shorter
  std::vector<Parameter> params;
};

/// Returns the number of words of a checked operator's task; see
/// device/fault.h. For an operator with any number of inputs it is constant, so
/// that the device code knows the end.
constexpr std::size_t checked_words(int inputs, std::size_t params,
                                    bool elementwise) noexcept {
  if (inputs < 0) return abi::kMaxArgs;
  const std::size_t buffers = 1 + static_cast<std::size_t>(inputs);
  return buffers + params + (elementwise ? 0 : buffers) + 1;
}

/// Buffers of such a task, at most.
constexpr std::size_t most_checked_buffers(std::size_t params,
                                           bool elementwise) noexcept {
  return (abi::kMaxArgs - 1 - params) / (elementwise ? 1 : 2);
}

inline bool has_defaults(std::span<const Parameter> params) noexcept {
  // Parameters with a default value come last.
  return !params.empty() && params.back().default_value.has_value();
}

/// Returns whether all parameters after the first `given` have default values.
inline bool may_be_fewer(std::span<const Parameter> params,
                         std::size_t given) noexcept {
  return given <= params.size() &&
         (given == params.size() || params[given].default_value.has_value());
}

/// Returns `given` and the default values of the parameters after them. Returns
/// nothing if there are too many, or a missing one has no default value.
inline std::optional<std::vector<Scalar>> with_defaults(
    std::span<const Parameter> params, std::span<const Scalar> given) {
  if (!may_be_fewer(params, given.size())) return {};
  std::vector<Scalar> all(given.begin(), given.end());
  for (const Parameter& param : params.subspan(given.size()))
    all.push_back(*param.default_value);
  return all;
}

namespace expression {
class Body;
}
class OperatorHistory;

/// Returns whether built-in operators know it.
constexpr bool has_builtins(DType dtype) noexcept {
  return static_cast<std::uint32_t>(dtype) < kBuiltinDTypes;
}
static_assert(static_cast<std::uint32_t>(DType::Int64) ==
                  static_cast<std::uint32_t>(BuiltinDType::i64),
              "the first dtypes are those of built-in operators");

/// The current meaning of a defined name. `submit` reads it without a lock.
struct OperatorRecord {
  OperatorRecord() {
    for (auto& slot : slots) slot.store(kNoSlot, std::memory_order_relaxed);
  }

  static constexpr std::int32_t kNoSlot = -1;

  std::string name;
  const void* owner = nullptr;  // the registry that it belongs to
  // Fixed from definition on: replace() must keep them.
  int inputs = 0;                        // -1: any number
  std::vector<std::string> input_names;  // empty: they have no names
  std::vector<Parameter> params;
  bool elementwise = true;
  bool is_builtin = false;  // it began so

  std::atomic<bool> is_defined{true};
  // True once the name was a whole operator, whose tasks the watchdog watches.
  // It is never reset, because tasks may be in submission.
  std::atomic<bool> is_traced{false};
  std::array<std::atomic<std::int32_t>, kDTypeCount> slots;
  // True for an expression, which has no slots. Its calls are calls of
  // programs.
  std::atomic<bool> has_body{false};
  std::atomic<std::shared_ptr<const expression::Body>> body;
  void set_body(std::shared_ptr<const expression::Body> to) {
    const bool is_one = to != nullptr;
    body.store(std::move(to));
    has_body.store(is_one);
  }
  // True if it has ever been a checked operator. It stays true, as `is_traced`
  // does.
  std::atomic<bool> is_checked{false};
  std::atomic<std::shared_ptr<const CheckedOperator>> checked;
  void set_checked(std::shared_ptr<const CheckedOperator> to) {
    checked.store(std::move(to));
    is_checked.store(true);
  }

  // The record that the name means, if it is not this one: the target of an
  // alias, or the variant of an operator's current version.
  std::atomic<OperatorRecord*> target{nullptr};

  // The versions of a name that is no alias.
  std::shared_ptr<OperatorHistory> versions;
  // One for each list of parameters, other than `params`, that a version has
  // had: as they are, because a submission may still read them.
  std::vector<std::shared_ptr<OperatorRecord>> variants;
  OperatorRecord* base = nullptr;  // of a variant: the name that it is one of

  // Used by an alias only. `history` keeps its targets alive, and its last
  // entry is `target`. At most this many switches can be reverted.
  static constexpr std::size_t kMaxSwitches = 256;
  std::mutex history_mutex;
  std::deque<std::shared_ptr<OperatorRecord>> history;
  // Targets that were left, each once: a submission may still read them.
  std::vector<std::shared_ptr<OperatorRecord>> left;
  void leave(const std::shared_ptr<OperatorRecord>& from);
  /// The name means nothing any more.
  void end_alias();

  bool is_alias() const noexcept {
    return versions == nullptr &&
           target.load(std::memory_order_acquire) != nullptr;
  }
  /// The operator that the name stands for now.
  OperatorRecord& resolved() noexcept {
    return const_cast<OperatorRecord&>(std::as_const(*this).resolved());
  }
  const OperatorRecord& resolved() const noexcept {
    const OperatorRecord* record = this;
    // Pairs with the release stores in Alias::switch_to() and
    // OperatorRegistry::become().
    while (const OperatorRecord* next =
               record->target.load(std::memory_order_acquire))
      record = next;
    return *record;
  }
};

/// Thrown during an operator's call, which must be repeated. The operator has
/// become an expression, or takes other parameters.
struct HasChanged : InvalidArgument {
  using InvalidArgument::InvalidArgument;
};

/// Returns whether `b` can replace `a` in a call that was made.
bool has_same_parameters(const OperatorRecord& a, const OperatorRecord& b);
/// Returns why `b` cannot replace `a` in later calls: "expected ..., got ...".
/// It is empty if `b` can. `b` may take further parameters with default values.
std::string misfit(const OperatorRecord& a, const OperatorRecord& b);
bool can_replace(const OperatorRecord& a, const OperatorRecord& b);

}  // namespace gpuos
