#pragma once

namespace gpuos {

/// Has the processor fetch a line that will soon be written: the device has
/// read it since, and stores, which leave in order, would all wait for it.
inline void prefetch_to_write(const void* line) noexcept {
#if defined(__x86_64__)
  // Without -mprfchw, __builtin_prefetch() fetches for reading.
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(line)));
#else
  __builtin_prefetch(line, 1);
#endif
}

}  // namespace gpuos
