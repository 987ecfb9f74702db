// The memory of tensors.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace gpuos::bridge {

using at::Tensor;

inline c10::StorageImpl* storage_of(const Tensor& tensor) {
  return tensor.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl();
}
/// Fetches a line that will be written. The compiler's own way to say so is
/// one to read it where it does not know the processor.
inline void fetch_to_write(const void* line) noexcept {
#if defined(__x86_64__)
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(line)));
#else
  __builtin_prefetch(line, 1);
#endif
}
/// Where a tensor begins, whatever hooks its storage has.
inline void* address_of(const Tensor& tensor) {
  const c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
  return static_cast<char*>(
             storage_of(tensor)->_mutable_data_ptr_no_checks().get()) +
         impl->storage_offset() * static_cast<std::int64_t>(impl->itemsize());
}

}  // namespace gpuos::bridge
