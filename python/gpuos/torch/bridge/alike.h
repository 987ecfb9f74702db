// The quick way inside of defer(): tensors of one shape and dtype, without
// gaps.
#pragma once

#include "elementwise.h"

namespace gpuos::bridge {

/// The way of most calls, for what plan() would take too: contiguous tensors
/// of one floating dtype and one shape, or a number in place of the second.
/// `other` undefined: one operand. Undefined: try plan().
Tensor defer_alike(const Elementwise& what, const Tensor& tensor,
                   const Tensor& other);
Tensor defer_alike(const Elementwise& what, const Tensor& tensor, double number,
                   bool is_number_first = false);
/// Into another tensor that is alike; `other` may be undefined. False: try
/// plan(). `objects`: Python's of all three, under the GIL, or null, as
/// without `other`.
bool defer_alike_out(const Elementwise& what, const Tensor& tensor,
                     const Tensor& other, const Tensor& out,
                     PyObject* const* objects = nullptr);
/// where() of tensors that are alike but for the condition, and of numbers.
/// Undefined: try plan().
Tensor defer_alike_where(const Tensor& condition, const Operand& a,
                         const Operand& b);
/// In place; false: try plan().
bool defer_alike_into(const Elementwise& what, const Tensor& out,
                      const Tensor& other);
bool defer_alike_into(const Elementwise& what, const Tensor& out,
                      double number);

}  // namespace gpuos::bridge
