// The memory of tensors.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace gpuos::bridge {

using at::Tensor;

inline c10::StorageImpl* storage_of(const Tensor& tensor) {
  return tensor.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl();
}
/// Fetches the lines of an object that will be read.
inline void prefetch(const void* data, std::size_t bytes) noexcept {
  constexpr std::size_t kLineBytes = 64;
  const auto* first = static_cast<const char*>(data);
  for (std::size_t at = 0; at < bytes - 1; at += kLineBytes)
    __builtin_prefetch(first + at);
  __builtin_prefetch(first + bytes - 1);  // objects begin anywhere in a line
}
/// Fetches lines that will be written. The compiler's own way to say so is one
/// to read them where it does not know the processor.
inline void prefetch_to_write(const void* data,
                              std::size_t bytes = 1) noexcept {
  constexpr std::size_t kLineBytes = 64;
  const auto* first = static_cast<const char*>(data);
  for (std::size_t at = 0; at < bytes; at += kLineBytes) {
#if defined(__x86_64__)
    asm volatile("prefetchw %0" : : "m"(first[at]));
#else
    __builtin_prefetch(first + at, 1);
#endif
  }
}
/// Prefetches a version for writing. It is stored apart from its tensor.
inline void fetch_version(const c10::VariableVersion& version) noexcept {
  static_assert(sizeof(version) == sizeof(void*));  // to the counter
  const void* counter = nullptr;
  std::memcpy(&counter, static_cast<const void*>(&version), sizeof(counter));
  prefetch_to_write(counter);
}
/// Returns the address of a tensor, without the hooks of its storage.
inline void* address_of(const Tensor& tensor) {
  const c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
  return static_cast<char*>(
             storage_of(tensor)->_mutable_data_ptr_no_checks().get()) +
         impl->storage_offset() * static_cast<std::int64_t>(impl->itemsize());
}

}  // namespace gpuos::bridge
