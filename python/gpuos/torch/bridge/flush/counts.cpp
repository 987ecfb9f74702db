#include "flush/counts.h"

namespace gpuos::bridge {

Counts run_by_pytorch;
Counts flush_causes;

const void* Counts::insert(std::size_t place, const Cause& cause) {
  const std::lock_guard lock(mutex_);
  Place& at = places_[place];
  if (at.key.load(std::memory_order_relaxed) == nullptr) {
    // A search ends at a free place.
    if (used_ == kPlaces - 1) return nullptr;
    at.name = cause.name();
    ++used_;
    // Pairs with the acquire in add() and all().
    at.key.store(cause.key(), std::memory_order_release);
  }
  return at.key.load(std::memory_order_relaxed);
}

std::map<std::string, std::uint64_t> Counts::all() const {
  std::map<std::string, std::uint64_t> counts;
  for (const Place& place : places_)
    if (place.key.load(std::memory_order_acquire) != nullptr)
      counts[place.name] += place.count.load(std::memory_order_relaxed);
  return counts;
}

}  // namespace gpuos::bridge
