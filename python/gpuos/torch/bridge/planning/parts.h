// Parts of a request, from tensors and numbers.
#pragma once

#include "gpuos/requests.h"
#include "memory/sharing.h"
#include "planning/types.h"
#include "pytorch/keys.h"

namespace gpuos::bridge {

/// TorchOperand `i` of an operation that computes in `common`.
void put_number(Request& request, std::size_t i, const c10::Scalar& number,
                const Elementwise& what, at::ScalarType common, bool is_cpu);
/// Overload for a number that is no integer, or where `common` is floating.
void put_real(Request& request, std::size_t i, double number,
              const Elementwise& what, at::ScalarType common, bool is_cpu);
inline void put_array(Request& request, std::size_t i, const Tensor& tensor,
                      DType dtype, void* address) {
  request.values[i] = reinterpret_cast<std::uint64_t>(address);
  request.dtypes[i] = dtype;
  request.owners[i] = storage_of(tensor);
}
inline void put_out(Request& request, const Tensor& out, bool is_fresh,
                    void* address) {
  request.is_fresh = is_fresh;
  request.out = address;
  request.out_owner = storage_of(out);
  request.elems = static_cast<std::uint64_t>(Fields::numel_of(out));
}

}  // namespace gpuos::bridge
