#pragma once

#include <cstddef>

#include "device/launch.h"
#include "driver/driver_api.h"
#include "queue/ring.h"

namespace gpuos::cu {

/// Zeroed host memory that the device reads and writes at the same address.
class PinnedBuffer {
 public:
  explicit PinnedBuffer(std::size_t bytes);
  ~PinnedBuffer();
  PinnedBuffer(const PinnedBuffer&) = delete;
  PinnedBuffer& operator=(const PinnedBuffer&) = delete;

  template <typename T>
  T* as() const noexcept {
    return static_cast<T*>(data_);
  }
  /// Never free it: the device may still write there.
  void abandon() noexcept { data_ = nullptr; }

 private:
  void* data_ = nullptr;
};

/// Zeroed device memory.
class DeviceBuffer {
 public:
  explicit DeviceBuffer(std::size_t bytes);
  ~DeviceBuffer();
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  CUdeviceptr address() const noexcept { return address_; }
  template <typename T>
  T* as() const noexcept {
    return reinterpret_cast<T*>(address_);
  }
  void abandon() noexcept { address_ = 0; }

 private:
  CUdeviceptr address_ = 0;
};

/// The memory of one ring on both sides.
///
/// Lifetime: outlives every launch that uses it.
class MappedRing {
 public:
  explicit MappedRing(std::uint32_t capacity);

  RingMemory host() const noexcept;
  abi::Queue device() const noexcept;
  void abandon() noexcept;

 private:
  std::uint32_t capacity_;
  PinnedBuffer descriptors_;
  PinnedBuffer arg_blocks_;
  PinnedBuffer done_;
  PinnedBuffer started_;
  DeviceBuffer counts_;
  DeviceBuffer flags_;
};

}  // namespace gpuos::cu
