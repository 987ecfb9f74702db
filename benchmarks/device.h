#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "rig.h"

namespace gpuos::bench {

/// A stream of the device's primary context and a kernel that adds. A program
/// without gpuos would use these.
///
/// Threads: the one that made it. The constructor sets that thread's context.
/// Throws: BackendUnavailable, CudaError.
class BareDevice {
 public:
  explicit BareDevice(int ordinal);
  ~BareDevice();
  BareDevice(const BareDevice&) = delete;
  BareDevice& operator=(const BareDevice&) = delete;

  /// Returns the CUstream.
  void* stream() const noexcept;
  /// Waits for all work of the device, as cudaDeviceSynchronize() does.
  void synchronize();

  /// Returns nanoseconds per add, with one launch each and a wait at the end.
  std::vector<double> launch_ns(const Rig& rig, std::size_t tasks,
                                std::int64_t elems, int reps);
  /// Returns microseconds of one launch and cuStreamSynchronize().
  std::vector<double> round_trip_us(const Rig& rig, std::int64_t elems,
                                    int reps);
  /// Returns nanoseconds per add of a CUDA graph with `tasks` adds, in a row or
  /// in parallel. A repetition has `replays` replays and a wait at the end.
  std::vector<double> graph_ns(const Rig& rig, std::size_t tasks,
                               std::int64_t elems, bool is_parallel,
                               int replays, int reps);
  /// Returns microseconds of a copy within the device.
  std::vector<double> copy_us(std::size_t bytes, int reps);

 private:
  struct State;
  void launch(const Rig& rig, std::size_t task, std::int64_t elems);

  std::unique_ptr<State> state_;
};

}  // namespace gpuos::bench
