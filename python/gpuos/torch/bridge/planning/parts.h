// Parts of a request, from tensors and numbers.
#pragma once

#include "planning/elementwise.h"
#include "pytorch/keys.h"

namespace gpuos::bridge {

/// Operand `i` of an operation that computes in `common`.
void put_number(Request& request, std::size_t i, const c10::Scalar& number,
                const Elementwise& what, at::ScalarType common, bool is_cpu);
inline void put_tensor(Request& request, std::size_t i, const Tensor& tensor,
                       DType dtype) {
  request.values[i] = reinterpret_cast<std::uint64_t>(address_of(tensor));
  request.dtypes[i] = dtype;
  request.owners[i] = storage_of(tensor);
}
inline void put_out(Request& request, const Tensor& out, bool is_fresh) {
  request.is_fresh = is_fresh;
  request.out = address_of(out);
  request.out_owner = storage_of(out);
  request.elems = static_cast<std::uint64_t>(out.numel());
}

}  // namespace gpuos::bridge
