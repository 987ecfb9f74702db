#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "gpuos/export.h"
#include "gpuos/program.h"
#include "gpuos/program_functions.h"

namespace gpuos {

/// Names the axes of a reduction. Negative ones are counted from the end. An
/// empty value means all.
using Axes = std::optional<std::vector<int>>;

// NumPy's reductions. Half types are computed in float32 and rounded at the
// end.
GPUOS_API Value sum(const Value& x, const Axes& axes = {},
                    bool keepdims = false);
GPUOS_API Value prod(const Value& x, const Axes& axes = {},
                     bool keepdims = false);
GPUOS_API Value max(const Value& x, const Axes& axes = {},
                    bool keepdims = false);
GPUOS_API Value min(const Value& x, const Axes& axes = {},
                    bool keepdims = false);
GPUOS_API Value ptp(const Value& x, const Axes& axes = {},
                    bool keepdims = false);
GPUOS_API Value any(const Value& x, const Axes& axes = {},
                    bool keepdims = false);
GPUOS_API Value all(const Value& x, const Axes& axes = {},
                    bool keepdims = false);
GPUOS_API Value count_nonzero(const Value& x, const Axes& axes = {},
                              bool keepdims = false);
/// Reduces one axis, or the flattened array.
GPUOS_API Value argmax(const Value& x, const Axes& axes = {},
                       bool keepdims = false);
GPUOS_API Value argmin(const Value& x, const Axes& axes = {},
                       bool keepdims = false);
/// Returns float64 for integers.
GPUOS_API Value mean(const Value& x, const Axes& axes = {},
                     bool keepdims = false);
GPUOS_API Value var(const Value& x, const Axes& axes = {}, double ddof = 0,
                    bool keepdims = false);
GPUOS_API Value stddev(const Value& x, const Axes& axes = {}, double ddof = 0,
                       bool keepdims = false);
/// Returns the vector norm of order `ord`, which may be infinity or -infinity.
GPUOS_API Value norm(const Value& x, double ord = 2, const Axes& axes = {},
                     bool keepdims = false);
GPUOS_API Value logsumexp(const Value& x, const Axes& axes = {},
                          bool keepdims = false);
GPUOS_API Value softmax(const Value& x, const Axes& axes = {});
GPUOS_API Value log_softmax(const Value& x, const Axes& axes = {});

// These functions take axes as NumPy does. Negative ones are counted from the
// end. Throws: InvalidArgument for an axis that does not exist or comes twice.

/// Inserts a dimension of size 1 at index `axis` of the result.
GPUOS_API Value expand_dims(const Value& x, int axis);
/// Inserts a dimension of size 1 at each index of `axes`.
GPUOS_API Value expand_dims(const Value& x, const std::vector<int>& axes);
/// Moves dimension `order[d]` to dimension d. An empty order reverses all.
GPUOS_API Value transpose(const Value& x,
                          const std::optional<std::vector<int>>& order = {});
/// Swaps axes `a` and `b`.
GPUOS_API Value swapaxes(const Value& x, int a, int b);
/// Removes these axes. Each must have one element in every call.
GPUOS_API Value squeeze(const Value& x, const std::vector<int>& axes);
/// Reverses the elements along these axes.
GPUOS_API Value flip(const Value& x, const Axes& axes = {});
/// Returns `sections` parts of one size along an axis.
GPUOS_API std::vector<Value> split(const Value& x, int sections, int axis = 0);
/// Moves the elements by `shift` places, and the last ones to the front.
GPUOS_API Value roll(const Value& x, std::int64_t shift, int axis);
/// Moves axis `source[i]` to place `destination[i]`. The others keep their
/// order.
GPUOS_API Value moveaxis(const Value& x, const std::vector<int>& source,
                         const std::vector<int>& destination);

}  // namespace gpuos
