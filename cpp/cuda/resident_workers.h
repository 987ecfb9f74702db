#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "cuda/ring_memory.h"
#include "cuda/worker_kernel.h"
#include "driver/owned.h"
#include "gpuos/options.h"

namespace gpuos::cu {

/// Workers that stay on the device until they are idle for a linger, their
/// lease is over or they are parked. Also the state that survives them.
///
/// Threads: launch() and park() belong to the control thread.
class ResidentWorkers {
 public:
  ResidentWorkers(const WorkerKernel& kernel, const abi::Queue& queue,
                  const RuntimeOptions& options, std::uint32_t workers);

  /// `is_brief`: the workers leave as soon as no task remains.
  void launch(bool is_brief);
  /// Ask the workers to leave at their next task boundary.
  void request_park();
  /// Returns whether the workers of the last launch have left. It is true
  /// before the first launch.
  bool has_left() const noexcept {
    // Pairs with the store to `left` at the end of stay() in worker.cu.
    return std::atomic_ref(*left_.as<u64>()).load(std::memory_order_acquire) >=
           number_.load(std::memory_order_relaxed);
  }
  /// How many launches there were.
  std::uint64_t count() const noexcept { return number_.load(); }
  CUstream stream() const noexcept { return stream_.get(); }
  void abandon() noexcept;

 private:
  const WorkerKernel& kernel_;
  std::uint32_t workers_;
  std::uint32_t threads_;
  std::atomic<std::uint64_t> number_{0};
  PinnedBuffer left_;
  DeviceBuffer state_;
  DeviceBuffer claims_;
  Stream stream_;
  Stream park_stream_;
  u64 linger_ns_;
  abi::Launch launch_{};
};

}  // namespace gpuos::cu
