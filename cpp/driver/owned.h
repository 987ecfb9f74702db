#pragma once

#include <utility>

#include "driver/check.h"
#include "driver/driver_api.h"

namespace gpuos::cu {

/// Sole owner of a driver object. Its destructor reports nothing. The object's
/// context must then be current, or must live for streams and events.
template <typename T, void (*Destroy)(T) noexcept>
class Owned {
 public:
  explicit Owned(T value = {}) noexcept : value_(value) {}
  Owned(Owned&& other) noexcept : value_(std::exchange(other.value_, {})) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  ~Owned() {
    if (value_) Destroy(value_);
  }
  T get() const noexcept { return value_; }
  explicit operator bool() const noexcept { return value_ != T{}; }

 private:
  T value_;
};

inline void destroy_stream(CUstream stream) noexcept {
  if (const DriverApi* api = try_driver()) api->cuStreamDestroy(stream);
}
inline void destroy_event(CUevent event) noexcept {
  if (const DriverApi* api = try_driver()) api->cuEventDestroy(event);
}

using Stream = Owned<CUstream, destroy_stream>;
using Event = Owned<CUevent, destroy_event>;

/// A stream that the legacy default stream does not wait for.
inline Stream make_stream(int priority = 0) {
  CUstream stream = nullptr;
  GPUOS_CUDA_CHECK(driver().cuStreamCreateWithPriority(
      &stream, CU_STREAM_NON_BLOCKING, priority));
  return Stream(stream);
}

/// An event for order only. It records no time.
inline Event make_event(unsigned int flags = CU_EVENT_DISABLE_TIMING) {
  CUevent event = nullptr;
  GPUOS_CUDA_CHECK(driver().cuEventCreate(&event, flags));
  return Event(event);
}

}  // namespace gpuos::cu
