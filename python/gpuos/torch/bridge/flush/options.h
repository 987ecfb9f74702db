// The options of a scheduler while a thread is in it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "pytorch/keys.h"

namespace gpuos::bridge {

struct Options {
  std::size_t capacity = 0;               // 0: what init() was told
  std::int64_t size_threshold = 1 << 15;  // elements
};
/// The options of the scheduler that this thread has entered last.
extern constinit thread_local Options options GPUOS_NEAR_TLS;

/// The capacity of requests by name in threads outside of schedulers.
inline std::atomic<std::size_t> capacity_outside{8192};

/// Requests that wait at most when this thread adds one.
inline std::size_t capacity() noexcept {
  return C10_LIKELY(options.capacity != 0)
             ? options.capacity
             : capacity_outside.load(std::memory_order_relaxed);
}
/// Operations of this thread on more elements are left to PyTorch.
inline std::int64_t size_threshold() noexcept { return options.size_threshold; }

/// For requests by name, which have no such bound.
inline constexpr std::int64_t kAnySize = INT64_MAX;

}  // namespace gpuos::bridge
