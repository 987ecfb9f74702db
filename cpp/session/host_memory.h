#pragma once

#include <cstddef>
#include <map>
#include <set>

#include "session/device/device.h"
#include "session/host/cell_names.h"

namespace gpuos::session {

/// Implements CUDA's functions for host code, on the legacy stream.
///
/// Threads: one at a time.
class HostMemory {
 public:
  explicit HostMemory(Device& device) : device_(device) {}

  using MemoryPlace = gpuos_host::MemoryPlace;
  cudaError_t allocate(void** pointer, std::size_t bytes, MemoryPlace kind);
  cudaError_t release(void* pointer, MemoryPlace kind);
  cudaError_t copy(void* to, const void* from, std::size_t bytes, int kind);
  cudaError_t fill(void* to, int value, std::size_t bytes);
  cudaError_t synchronize();
  /// Returns the last error since the error was taken.
  cudaError_t last_error(bool is_kept);
  /// Calls the driver for a stream, an event or the device.
  cudaError_t order(gpuos_host::DriverCall what, void* first, void* second,
                    void* made);
  /// Frees memory, streams and events that host code has left. Frees nothing
  /// while one of its streams still works.
  cudaError_t reset();
  void note_error(int code) { last_ = static_cast<cudaError_t>(code); }

 private:
  template <typename Work>
  cudaError_t guard(Work work);

  void wait_for(void* stream) const;
  void free(void* pointer, MemoryPlace kind) const;

  Device& device_;
  cudaError_t last_ = cudaSuccess;
  std::map<void*, MemoryPlace> memory_;
  std::set<void*> streams_;
  std::set<void*> events_;
  std::map<void*, void*> streams_of_events_;  // the stream that recorded each
                                              // event
};

}  // namespace gpuos::session
