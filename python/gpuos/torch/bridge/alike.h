// The quick way inside of defer(): tensors of one shape and dtype, without
// gaps.
#pragma once

#include "elementwise.h"

namespace gpuos::bridge {

/// Without the quick way.
Tensor defer_planned(const Elementwise& what, std::span<const Operand> operands,
                     const Tensor& out = {},
                     std::int64_t most = size_threshold());

// defer() of one or two operands begins here. The rest of it asks these first.

/// Into another tensor that is alike; `other` may be undefined. False: try
/// plan(). `objects`: Python's of all three, under the GIL, or null, as
/// without `other`.
bool defer_alike_out(const Elementwise& what, const Tensor& tensor,
                     const Tensor& other, const Tensor& out,
                     PyObject* const* objects = nullptr);
/// Defers where() of tensors that are alike except the condition, and of
/// numbers. Undefined: use plan().
Tensor defer_alike_where(const Tensor& condition, const Operand& a,
                         const Operand& b);
/// In place; false: try plan().
bool defer_alike_into(const Elementwise& what, const Tensor& out,
                      const Tensor& other);
bool defer_alike_into(const Elementwise& what, const Tensor& out,
                      double number);

}  // namespace gpuos::bridge
