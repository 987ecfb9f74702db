#pragma once

namespace gpuos {

/// Prefetches a line that will soon be written. The device has read it since,
/// and all later stores would wait for it, because stores leave in order.
inline void prefetch_to_write(const void* line) noexcept {
#if defined(__x86_64__)
  // Without -mprfchw, __builtin_prefetch() fetches for reading.
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(line)));
#else
  __builtin_prefetch(line, 1);
#endif
}

}  // namespace gpuos
