#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "rig.h"

namespace gpuos::bench {

/// A stream of the device's primary context and a kernel that adds: what a
/// program would use without gpuos.
///
/// Threads: the one that made it, whose context it sets.
/// Throws: BackendUnavailable, CudaError.
class Device {
 public:
  explicit Device(int ordinal);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  /// A CUstream.
  void* stream() const noexcept;
  /// Everything on the device, as cudaDeviceSynchronize().
  void synchronize();

  /// Nanoseconds an add: one launch each, awaited at the end.
  std::vector<double> launch_ns(const Rig& rig, std::size_t tasks,
                                std::int64_t elems, int reps);
  /// Microseconds of one launch and cuStreamSynchronize().
  std::vector<double> round_trip_us(const Rig& rig, std::int64_t elems,
                                    int reps);
  /// Nanoseconds an add: a CUDA graph of `tasks` adds, one after the other or
  /// all at once, replayed `replays` times and awaited at the end.
  std::vector<double> graph_ns(const Rig& rig, std::size_t tasks,
                               std::int64_t elems, bool is_parallel,
                               int replays, int reps);
  /// Microseconds of a copy within the device.
  std::vector<double> copy_us(std::size_t bytes, int reps);

 private:
  struct State;
  void launch(const Rig& rig, std::size_t task, std::int64_t elems);

  std::unique_ptr<State> state_;
};

}  // namespace gpuos::bench
