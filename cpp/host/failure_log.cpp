#include "host/failure_log.h"

#include "base/concat.h"
#include "gpuos/error.h"

namespace gpuos::host {

void FailureLog::add(std::uint64_t begin, const std::string& operator_name,
                     const std::string& message) {
  const std::lock_guard lock(mutex_);
  failures_.try_emplace(begin, Failure{operator_name, message});
  if (failures_.size() > kMaxFailures) failures_.erase(failures_.begin());
  // Pairs with the load in check(); the batch's done word comes after it.
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

}  // namespace gpuos::host
