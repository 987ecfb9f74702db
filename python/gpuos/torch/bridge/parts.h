// Parts of a request, from tensors and numbers.
#pragma once

#include "elementwise.h"
#include "keys.h"

namespace gpuos::bridge {

inline c10::StorageImpl* storage_of(const Tensor& tensor) {
  return tensor.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl();
}

/// Operand `i` of an operation that computes in `common`.
void put_number(Request& request, std::size_t i, const c10::Scalar& number,
                Rule rule, at::ScalarType common);
void put_tensor(Deferred& deferred, std::size_t i, const Tensor& tensor);
void put_out(Deferred& deferred, const Tensor& out, bool is_fresh);

}  // namespace gpuos::bridge
