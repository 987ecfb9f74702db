// Counts the memory of a thread from `new` that was not deleted. In contrast to
// malloc()'s own count, it excludes memory of drivers and compilers, which use
// their own threads. Only one file of a test program may include it, because it
// replaces the operators.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace gpuos {

class CountedMemory {
 public:
  /// Counts the allocations of this thread during its lifetime. Other threads
  /// may free them.
  CountedMemory() { counts = true; }
  ~CountedMemory() { counts = false; }
  CountedMemory(const CountedMemory&) = delete;
  CountedMemory& operator=(const CountedMemory&) = delete;

  static std::size_t bytes() { return live.load(); }

  static void* allocate(std::size_t size, std::size_t alignment) {
    if (void* const data = try_allocate(size, alignment)) return data;
    throw std::bad_alloc();
  }
  static void* try_allocate(std::size_t size, std::size_t alignment) noexcept {
    // The size is stored before it. 0 means that it is not counted.
    const std::size_t before = before_of(alignment);
    const std::size_t all = (size + 2 * before - 1) / before * before;
    auto* const base = static_cast<char*>(std::aligned_alloc(before, all));
    if (base == nullptr) return nullptr;
    char* const data = base + before;
    const std::size_t counted = counts ? all : 0;
    *size_of(data) = counted;
    live += counted;
    return data;
  }
  static void release(void* data, std::size_t alignment) noexcept {
    if (data == nullptr) return;
    live -= *size_of(data);
    std::free(static_cast<char*>(data) - before_of(alignment));
  }

 private:
  static std::size_t before_of(std::size_t alignment) {
    return std::max(alignment, alignof(std::max_align_t));
  }
  static std::size_t* size_of(void* data) {
    return static_cast<std::size_t*>(data) - 1;
  }

  static inline constinit std::atomic<std::size_t> live{0};
  static inline constinit thread_local bool counts = false;
};

}  // namespace gpuos

void* operator new(std::size_t size) {
  return gpuos::CountedMemory::allocate(size, 0);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return gpuos::CountedMemory::allocate(size,
                                        static_cast<std::size_t>(alignment));
}
// Sanitizers have their own of these, which would not go with the others.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return gpuos::CountedMemory::try_allocate(size, 0);
}
void* operator new(std::size_t size, std::align_val_t alignment,
                   const std::nothrow_t&) noexcept {
  return gpuos::CountedMemory::try_allocate(
      size, static_cast<std::size_t>(alignment));
}
void operator delete(void* data) noexcept {
  gpuos::CountedMemory::release(data, 0);
}
void operator delete(void* data, std::size_t) noexcept {
  gpuos::CountedMemory::release(data, 0);
}
void operator delete(void* data, std::align_val_t alignment) noexcept {
  gpuos::CountedMemory::release(data, static_cast<std::size_t>(alignment));
}
void operator delete(void* data, std::size_t,
                     std::align_val_t alignment) noexcept {
  gpuos::CountedMemory::release(data, static_cast<std::size_t>(alignment));
}
