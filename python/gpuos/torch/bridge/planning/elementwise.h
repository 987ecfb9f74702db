// Turns an elementwise operation of PyTorch into a request.
#pragma once

#include <optional>
#include <span>

#include "flush/options.h"
#include "flush/pending.h"
#include "planning/operands.h"

namespace gpuos::bridge {

/// The function with a factor for the second operand, of Add and Sub.
constexpr Function with_factor(Function function) {
  return function == Function::Add ? Function::AddScaled : Function::SubScaled;
}

/// A request that was found possible, and its result.
struct Planned {
  Deferred deferred;
  Tensor out;
  const Site* site = nullptr;
  std::int64_t loss = 0;  // ns that it takes longer than PyTorch's kernel
};

/// Plans a request without changing anything. `out` is the output of in-place
/// and `out=` forms, and undefined for a new tensor. `type` is the result's
/// dtype for Rule::Copy. An empty result leaves the operation, or its error, to
/// PyTorch.
std::optional<Planned> plan(const Elementwise& what,
                            std::span<const TorchOperand> operands,
                            const Tensor& out = {},
                            std::optional<at::ScalarType> type = {},
                            std::int64_t most = size_threshold());

/// Puts it off. Undefined: PyTorch must do it.
Tensor defer(const Elementwise& what, std::span<const TorchOperand> operands,
             const Tensor& out = {}, std::int64_t most = size_threshold());

// Overloads for common calls, whose operands need no array.

Tensor defer(const Elementwise& what, const Tensor& tensor);
Tensor defer(const Elementwise& what, const Tensor& tensor,
             const Tensor& other);
Tensor defer(const Elementwise& what, const Tensor& tensor, double number,
             bool is_number_first = false);
Tensor defer(const Elementwise& what, const Tensor& tensor,
             const c10::Scalar& number);
/// Writes into `out` only if it and the operands are alike, which most are.
/// `objects` are the Python objects of all three, under the GIL, or null.
bool defer_alike(const Elementwise& what, const Tensor& tensor,
                 const Tensor& other, const Tensor& out,
                 PyObject* const* objects = nullptr);
/// In place. Returns false if PyTorch must do it.
bool defer_into(const Elementwise& what, const Tensor& out,
                const Tensor& other);
bool defer_into(const Elementwise& what, const Tensor& out,
                const c10::Scalar& number);

}  // namespace gpuos::bridge
