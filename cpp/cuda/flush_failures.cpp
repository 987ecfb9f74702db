#include "cuda/flush_failures.h"

namespace gpuos::cu {

void FlushFailures::add(std::uint64_t begin, std::exception_ptr why) {
  const std::lock_guard lock(mutex_);
  if (failures_.size() == kRemembered) failures_.pop_front();
  failures_.push_back({begin, std::move(why), false});
  has_any_.store(true, std::memory_order_release);
}

void FlushFailures::find(std::uint64_t begin) {
  const std::lock_guard lock(mutex_);
  for (Failure& failure : failures_) {
    if (failure.begin != begin) continue;
    failure.is_told = true;
    std::rethrow_exception(failure.why);
  }
}

void FlushFailures::find_untold() {
  const std::lock_guard lock(mutex_);
  for (Failure& failure : failures_) {
    if (failure.is_told) continue;
    failure.is_told = true;
    std::rethrow_exception(failure.why);
  }
}

}  // namespace gpuos::cu
