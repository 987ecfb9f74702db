#include "gpuos/program_reductions.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "concat.h"
#include "gpuos/error.h"
#include "program/in_single.h"

namespace gpuos {

using program::in_single;

namespace {

// What mean, var and norm are computed in: integers as float64.
Value as_floating(const Value& x) {
  const bool is_exact = !is_floating(x.dtype()) && !is_complex(x.dtype());
  return is_exact ? ProgramBuilder::cast(x, DType::Float64) : x;
}

Value mean_of(const Value& x, const Axes& axes, bool keepdims) {
  return sum(x, axes, keepdims) / ProgramBuilder::extent(x, axes);
}

// |x|^2, real.
Value square_of_length(const Value& x) {
  if (!is_complex(x.dtype())) return square(x);
  return square(real(x)) + square(imag(x));
}

Value var_of(const Value& x, const Axes& axes, double ddof, bool keepdims) {
  const Value distance = x - mean_of(x, axes, true);
  Value count = ProgramBuilder::extent(x, axes);
  if (ddof != 0) count = maximum(count - ddof, 0.0);
  return sum(square_of_length(distance), axes, keepdims) / count;
}

// The largest of each row, 0 where that is no number to subtract.
Value shift_of(const Value& x, const Axes& axes, bool keepdims) {
  const Value largest = max(x, axes, keepdims);
  return where(isfinite(largest), largest, 0.0);
}

Value norm_of(const Value& x, double ord, const Axes& axes, bool keepdims) {
  if (ord == 2) return sqrt(sum(square_of_length(x), axes, keepdims));
  const Value length = absolute(x);
  if (std::isinf(ord))
    return ord > 0 ? max(length, axes, keepdims) : min(length, axes, keepdims);
  if (ord == 1) return sum(length, axes, keepdims);
  if (ord == 0)
    return sum(astype(not_equal(length, 0), length.dtype()), axes, keepdims);
  return power(sum(power(length, ord), axes, keepdims), 1 / ord);
}

int place_of(int axis, int rank, const char* name) {
  if (axis < -rank || axis >= rank)
    throw InvalidArgument(concat(name, ": expected axes of ", -rank, " to ",
                                 rank - 1, ", got ", axis));
  return axis < 0 ? axis + rank : axis;
}

}  // namespace

#define GPUOS_REDUCTION(name, op)                               \
  Value name(const Value& x, const Axes& axes, bool keepdims) { \
    return ProgramBuilder::reduce(Op::op, x, axes, keepdims);   \
  }
GPUOS_REDUCTION(sum, Sum)
GPUOS_REDUCTION(prod, Prod)
GPUOS_REDUCTION(max, Max)
GPUOS_REDUCTION(min, Min)
GPUOS_REDUCTION(argmax, Argmax)
GPUOS_REDUCTION(argmin, Argmin)
#undef GPUOS_REDUCTION

Value ptp(const Value& x, const Axes& axes, bool keepdims) {
  return max(x, axes, keepdims) - min(x, axes, keepdims);
}

Value count_nonzero(const Value& x, const Axes& axes, bool keepdims) {
  return sum(astype(x, DType::Bool), axes, keepdims);
}

Value any(const Value& x, const Axes& axes, bool keepdims) {
  return not_equal(count_nonzero(x, axes, keepdims), 0);
}

Value all(const Value& x, const Axes& axes, bool keepdims) {
  return equal(count_nonzero(logical_not(x), axes, keepdims), 0);
}

Value mean(const Value& x, const Axes& axes, bool keepdims) {
  return in_single(as_floating(x),
                   [&](const Value& v) { return mean_of(v, axes, keepdims); });
}

Value var(const Value& x, const Axes& axes, double ddof, bool keepdims) {
  return in_single(as_floating(x), [&](const Value& v) {
    return var_of(v, axes, ddof, keepdims);
  });
}

Value stddev(const Value& x, const Axes& axes, double ddof, bool keepdims) {
  return in_single(as_floating(x), [&](const Value& v) {
    return sqrt(var_of(v, axes, ddof, keepdims));
  });
}

Value norm(const Value& x, double ord, const Axes& axes, bool keepdims) {
  return in_single(as_floating(x), [&](const Value& v) {
    return norm_of(v, ord, axes, keepdims);
  });
}

Value logsumexp(const Value& x, const Axes& axes, bool keepdims) {
  return in_single(as_floating(x), [&](const Value& v) {
    return log(sum(exp(v - shift_of(v, axes, true)), axes, keepdims)) +
           shift_of(v, axes, keepdims);
  });
}

Value softmax(const Value& x, const Axes& axes) {
  return in_single(as_floating(x), [&](const Value& v) {
    const Value e = exp(v - max(v, axes, true));
    return e / sum(e, axes, true);
  });
}

Value log_softmax(const Value& x, const Axes& axes) {
  return in_single(as_floating(x), [&](const Value& v) {
    const Value shifted = v - max(v, axes, true);
    return shifted - log(sum(exp(shifted), axes, true));
  });
}

Value expand_dims(const Value& x, int axis) {
  const int place = place_of(axis, x.rank() + 1, "expand_dims");
  std::vector<int> dims(static_cast<std::size_t>(x.rank()));
  std::iota(dims.begin(), dims.end(), 0);
  dims.insert(dims.begin() + place, -1);
  return ProgramBuilder::view(x, dims);
}

Value transpose(const Value& x, const std::optional<std::vector<int>>& order) {
  const int rank = x.rank();
  std::vector<int> dims(static_cast<std::size_t>(rank));
  std::iota(dims.rbegin(), dims.rend(), 0);
  if (order) {
    if (order->size() != dims.size())
      throw InvalidArgument(
          concat("transpose: expected ", rank, " axes, got ", order->size()));
    std::ranges::transform(*order, dims.begin(), [&](int axis) {
      return place_of(axis, rank, "transpose");
    });
  }
  return ProgramBuilder::view(x, dims);
}

}  // namespace gpuos
