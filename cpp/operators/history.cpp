#include "operators/history.h"

#include <algorithm>
#include <set>

#include "base/concat.h"
#include "gpuos/error.h"

namespace gpuos {

Slots OperatorCode::used_slots() const {
  Slots used;
  for (const std::int32_t slot : slots)
    if (slot != OperatorRecord::kNoSlot && !is_builtin)
      used.push_back(static_cast<std::uint32_t>(slot));
  return used;
}

std::uint64_t OperatorHistory::add(Code code, std::uint64_t before) {
  const std::lock_guard lock(mutex_);
  kept_.push_back({++last_, std::move(code), before});
  return last_;
}

const OperatorHistory::Version& OperatorHistory::earlier(
    const std::string& name, std::uint64_t number) const {
  if (number == 0)
    throw InvalidArgument(concat("rollback: expected a version before version ",
                                 current().number, " of ", name,
                                 ", there is none"));
  const auto at = std::ranges::find(kept_, number, &Version::number);
  if (at == kept_.end())
    throw InvalidArgument(concat(
        "rollback: ", name, ": expected a version that is still loaded, ",
        kept_.front().number, " to ", kept_.back().number, ", got ", number));
  return *at;
}

OperatorVersion OperatorHistory::shown(const Version& version) const {
  const OperatorCode& code = *version.code;
  return {.number = version.number,
          .before = version.before,
          .expression = code.expression,
          .source = code.source,
          .params = code.params,
          .symbol = code.symbol,
          .is_builtin = code.is_builtin,
          .is_current = version.number == last_,
          .definition = code.definition};
}

std::vector<OperatorVersion> OperatorHistory::list() const {
  std::vector<OperatorVersion> versions;
  const std::lock_guard lock(mutex_);
  for (const Version& version : kept_) versions.push_back(shown(version));
  return versions;
}

std::optional<OperatorVersion> OperatorHistory::newest() const {
  const std::lock_guard lock(mutex_);
  if (kept_.empty()) return std::nullopt;
  return shown(kept_.back());
}

std::size_t OperatorHistory::old_slots() const {
  std::set<const OperatorCode*> old;
  for (const Version& version : kept_)
    if (version.code != current().code) old.insert(version.code.get());
  std::size_t count = 0;
  for (const OperatorCode* code : old) count += code->used_slots().size();
  return count;
}

Slots OperatorHistory::keep(std::size_t most) {
  Slots unused;
  const std::lock_guard lock(mutex_);
  while (kept_.size() > most) {
    const Code code = std::move(kept_.front().code);
    kept_.pop_front();
    if (std::ranges::find(kept_, code, &Version::code) != kept_.end()) continue;
    const Slots slots = code->used_slots();
    unused.insert(unused.end(), slots.begin(), slots.end());
  }
  return unused;
}

Slots OperatorHistory::forget_all() { return keep(0); }

}  // namespace gpuos
