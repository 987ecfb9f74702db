// The fast path inside of defer(): tensors of one shape and dtype, without
// gaps.
#pragma once

#include "planning/elementwise.h"

namespace gpuos::bridge {

/// Defers as defer() does, by plan() alone.
Tensor defer_planned(const Elementwise& what, std::span<const Operand> operands,
                     const Tensor& out = {},
                     std::int64_t most = size_threshold());

// defer() of one or two operands begins here. The rest of it asks these first.

/// Writes into another tensor of the same layout. `other` may be undefined.
/// False means that the caller should try plan(). `objects` are the Python
/// objects of all three, under the GIL, or null, as without `other`.
bool defer_fast_out(const Elementwise& what, const Tensor& tensor,
                    const Tensor& other, const Tensor& out,
                    PyObject* const* objects = nullptr);
/// Defers where() of tensors that are alike except the condition, and of
/// numbers. Undefined: use plan().
Tensor defer_fast_where(const Tensor& condition, const Operand& a,
                        const Operand& b);
/// The in-place form. False means that the caller should try plan().
bool defer_fast_into(const Elementwise& what, const Tensor& out,
                     const Tensor& other);
bool defer_fast_into(const Elementwise& what, const Tensor& out, double number);

}  // namespace gpuos::bridge
