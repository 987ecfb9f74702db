#include "gpuos/operator.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/concat.h"
#include "gpuos/error.h"
#include "operators/history.h"
#include "queue/operator_record.h"

namespace gpuos {
namespace {

OperatorRecord& checked(const std::shared_ptr<OperatorRecord>& record,
                        const char* what) {
  if (record == nullptr)
    throw InvalidArgument(
        concat(what, ": expected a defined operator, got an empty handle"));
  return *record;
}

/// Returns the operator that a handle means, with all that its name has.
const OperatorRecord& whole(const OperatorRecord& record) {
  const OperatorRecord& now = record.resolved();
  return now.base == nullptr ? now : *now.base;
}

/// Checks an alias, whose `history_mutex` is held. Throws: InvalidArgument.
void check_is_defined(const OperatorRecord& alias) {
  if (!alias.is_defined.load())
    throw InvalidArgument(
        concat(alias.name, ": expected a defined alias, but it was undefined"));
}

bool reaches(const OperatorRecord* from, const OperatorRecord* to) {
  for (; from != nullptr; from = from->target.load()) {
    if (from == to) return true;
  }
  return false;
}

bool has_same_default(const Parameter& a, const Parameter& b) {
  if (a.default_value.has_value() != b.default_value.has_value()) return false;
  return !a.default_value ||
         a.default_value->is_same_as(*b.default_value, a.dtype);
}

std::string text_of_inputs(const OperatorRecord& op) {
  return op.inputs < 0 ? "any number of inputs" : concat(op.inputs, " inputs");
}

std::string text_of(const Parameter& param) {
  return concat("the parameter ", param.name, " of ", name_of(param.dtype),
                param.default_value ? " with a default value" : "");
}

bool can_replace(const Parameter& a, const Parameter& b, bool is_builtin) {
  // The scalar of a built-in has the dtype of its buffers.
  return a.name == b.name && (a.dtype == b.dtype || is_builtin) &&
         (!a.default_value || b.default_value);
}

std::string misfit_of_params(const OperatorRecord& a, const OperatorRecord& b) {
  for (std::size_t i = 0; i < a.params.size(); ++i) {
    if (i == b.params.size())
      return concat("expected ", text_of(a.params[i]), ", got none");
    if (!can_replace(a.params[i], b.params[i], a.is_builtin))
      return concat("expected ", text_of(a.params[i]), ", got ",
                    text_of(b.params[i]));
  }
  for (std::size_t i = a.params.size(); i < b.params.size(); ++i) {
    if (!b.params[i].default_value)
      return concat("expected a default value of the new parameter ",
                    b.params[i].name, ", got none");
  }
  return "";
}

}  // namespace

std::string misfit(const OperatorRecord& a, const OperatorRecord& b) {
  if (a.inputs != b.inputs)
    return concat("expected ", text_of_inputs(a), ", got ", text_of_inputs(b));
  if (a.elementwise != b.elementwise)
    return a.elementwise
               ? "expected an elementwise operator, got one that is not"
               : "expected one that is not elementwise, got one that is";
  return misfit_of_params(a, b);
}

bool can_replace(const OperatorRecord& a, const OperatorRecord& b) {
  return misfit(a, b).empty();
}

bool has_same_parameters(const OperatorRecord& a, const OperatorRecord& b) {
  if (a.params.size() != b.params.size() || !can_replace(a, b)) return false;
  // A call stores default values like given ones, so they must be equal.
  return std::ranges::equal(a.params, b.params, has_same_default);
}

void OperatorRecord::end_alias() {
  const std::lock_guard lock(history_mutex);
  // A call is checked against these values before it finds that the operator is
  // gone.
  const OperatorRecord& last = resolved();
  inputs = last.inputs;
  input_names = last.input_names;
  params = last.params;
  elementwise = last.elementwise;
  is_defined.store(false);
  // This store pairs with the acquire load in resolved(). No thread read the
  // values before.
  target.store(nullptr, std::memory_order_release);
}

void OperatorRecord::leave(const std::shared_ptr<OperatorRecord>& from) {
  if (std::find(left.begin(), left.end(), from) == left.end())
    left.push_back(from);
}

const std::string& Operator::name() const {
  return checked(record_, "Operator").name;
}

int Operator::inputs() const {
  return checked(record_, "Operator").resolved().inputs;
}

const std::vector<std::string>& Operator::input_names() const {
  return checked(record_, "Operator").resolved().input_names;
}

const std::vector<Parameter>& Operator::params() const {
  return checked(record_, "Operator").resolved().params;
}

Operator Operator::pinned() const {
  OperatorRecord& now = checked(record_, "Operator").resolved();
  // The pointer owns the name, and the name owns its variants.
  return Operator(std::shared_ptr<OperatorRecord>(record_, &now));
}

std::vector<OperatorVersion> Operator::versions() const {
  const auto& versions = whole(checked(record_, "Operator")).versions;
  return versions == nullptr ? std::vector<OperatorVersion>()
                             : versions->list();
}

OperatorVersion Operator::current() const {
  const auto& versions = whole(checked(record_, "Operator")).versions;
  std::optional<OperatorVersion> newest;
  if (versions != nullptr) newest = versions->newest();
  if (!newest)
    throw InvalidArgument(concat("Operator: expected a defined operator, but ",
                                 name(), " was undefined"));
  return *std::move(newest);
}

bool Operator::is_defined() const noexcept {
  return record_ != nullptr && record_->is_defined.load();
}

const std::string& Alias::name() const {
  return checked(record_, "Alias").name;
}

Operator Alias::target() const {
  OperatorRecord& alias = checked(record_, "Alias");
  const std::lock_guard lock(alias.history_mutex);
  check_is_defined(alias);
  return Operator(alias.history.back());
}

void Alias::switch_to(const Operator& target) {
  OperatorRecord& alias = checked(record_, "Alias");
  OperatorRecord& next = checked(target.record(), "Alias::switch_to");
  if (!next.is_defined.load())
    throw InvalidArgument(concat(alias.name,
                                 ": expected a defined operator, but ",
                                 next.name, " was undefined"));
  if (next.owner != alias.owner)
    throw InvalidArgument(concat(alias.name,
                                 ": expected an operator of this runtime, but ",
                                 next.name, " is of another"));
  const std::lock_guard lock(alias.history_mutex);
  check_is_defined(alias);
  if (reaches(&next, &alias))
    throw InvalidArgument(
        concat(alias.name, ": expected a target that does not lead back, but ",
               next.name, " points at it"));
  // The two operators may differ in which parameters have default values.
  const std::string wrong = misfit(alias.resolved(), next.resolved());
  if (!wrong.empty() && !can_replace(next.resolved(), alias.resolved()))
    throw InvalidArgument(concat(alias.name, ": expected a target that takes ",
                                 "what ", alias.resolved().name, " takes, got ",
                                 next.name, ": ", wrong));
  alias.history.push_back(target.record());
  if (alias.history.size() > OperatorRecord::kMaxSwitches + 1) {
    alias.leave(alias.history.front());
    alias.history.pop_front();
  }
  // This store pairs with the acquire load in OperatorRecord::resolved().
  alias.target.store(&next, std::memory_order_release);
}

void Alias::rollback() {
  OperatorRecord& alias = checked(record_, "Alias");
  const std::lock_guard lock(alias.history_mutex);
  check_is_defined(alias);
  if (alias.history.size() < 2)
    throw InvalidArgument(
        concat(alias.name, ": expected an earlier target, but there is none"));
  OperatorRecord& previous = **(alias.history.end() - 2);
  if (!previous.is_defined.load())
    throw InvalidArgument(concat(alias.name,
                                 ": expected a defined target, but ",
                                 previous.name, " was undefined"));
  alias.leave(alias.history.back());
  alias.history.pop_back();
  // This store pairs with the acquire load in OperatorRecord::resolved().
  alias.target.store(&previous, std::memory_order_release);
}

}  // namespace gpuos
