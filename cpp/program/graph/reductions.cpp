#include "gpuos/program_reductions.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/concat.h"
#include "gpuos/error.h"
#include "program/graph/axes.h"
#include "program/graph/typing.h"

namespace gpuos {

using program::in_single;

namespace {

// Converts for mean, var and norm: integers become float64.
Value as_floating(const Value& x) {
  const bool is_exact = !is_floating(x.dtype()) && !is_complex(x.dtype());
  return is_exact ? ProgramBuilder::cast(x, DType::Float64) : x;
}

Value mean_of(const Value& x, const Axes& axes, bool keepdims) {
  return sum(x, axes, keepdims) / ProgramBuilder::extent(x, axes);
}

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

/// The largest number of each row. An empty row is no error.
Value largest_of(const Value& x, const Axes& axes, bool keepdims) {
  return ProgramBuilder::reduce(Op::Max, x, axes, keepdims, true);
}

// The largest of each row, 0 where that is no number to subtract.
Value shift_of(const Value& x, const Axes& axes, bool keepdims) {
  const Value largest = largest_of(x, axes, keepdims);
  return where(isfinite(largest), largest, 0.0);
}

// log(sum(exp(x - largest))), exact where it is near 0: the largest elements
// are counted, since 1 + 1e-20 is 1.
Value log_of_sum(const Value& x, const Axes& axes, bool keepdims) {
  const Value is_largest = equal(x, largest_of(x, axes, true));
  const Value term = exp(x - shift_of(x, axes, true));
  const Value others = sum(where(is_largest, 0.0, term), axes, keepdims);
  const Value count = sum(astype(is_largest, x.dtype()), axes, keepdims);
  return log1p(others / maximum(count, 1.0)) + log(count);
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

// Checks the axes first, so that an error has the name of the called function.
Axes checked(const Axes& axes, const Value& x, const char* name) {
  if (!axes) return {};
  return program::places_of(*axes, x.rank(), name);
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

Value ptp(const Value& x, const Axes& given, bool keepdims) {
  const Axes axes = checked(given, x, "ptp");
  return max(x, axes, keepdims) - min(x, axes, keepdims);
}

Value count_nonzero(const Value& x, const Axes& given, bool keepdims) {
  const Axes axes = checked(given, x, "count_nonzero");
  return sum(astype(x, DType::Bool), axes, keepdims);
}

Value any(const Value& x, const Axes& given, bool keepdims) {
  const Axes axes = checked(given, x, "any");
  return not_equal(count_nonzero(x, axes, keepdims), 0);
}

Value all(const Value& x, const Axes& given, bool keepdims) {
  const Axes axes = checked(given, x, "all");
  return equal(count_nonzero(logical_not(x), axes, keepdims), 0);
}

Value mean(const Value& x, const Axes& given, bool keepdims) {
  const Axes axes = checked(given, x, "mean");
  return in_single(as_floating(x),
                   [&](const Value& v) { return mean_of(v, axes, keepdims); });
}

Value var(const Value& x, const Axes& given, double ddof, bool keepdims) {
  const Axes axes = checked(given, x, "var");
  return in_single(as_floating(x), [&](const Value& v) {
    return var_of(v, axes, ddof, keepdims);
  });
}

Value stddev(const Value& x, const Axes& given, double ddof, bool keepdims) {
  const Axes axes = checked(given, x, "std");
  return in_single(as_floating(x), [&](const Value& v) {
    return sqrt(var_of(v, axes, ddof, keepdims));
  });
}

Value norm(const Value& x, double ord, const Axes& given, bool keepdims) {
  const Axes axes = checked(given, x, "norm");
  return in_single(as_floating(x), [&](const Value& v) {
    return norm_of(v, ord, axes, keepdims);
  });
}

Value logsumexp(const Value& x, const Axes& given, bool keepdims) {
  const Axes axes = checked(given, x, "logsumexp");
  return in_single(as_floating(x), [&](const Value& v) {
    return log_of_sum(v, axes, keepdims) + largest_of(v, axes, keepdims);
  });
}

Value softmax(const Value& x, const Axes& given) {
  const Axes axes = checked(given, x, "softmax");
  return in_single(as_floating(x), [&](const Value& v) {
    const Value e = exp(v - largest_of(v, axes, true));
    return e / sum(e, axes, true);
  });
}

Value log_softmax(const Value& x, const Axes& given) {
  const Axes axes = checked(given, x, "log_softmax");
  return in_single(as_floating(x), [&](const Value& v) {
    const Value largest = largest_of(v, axes, true);
    // NaN for a row with an infinity, as in PyTorch.
    const Value shift = largest - largest;
    return v - largest - (log_of_sum(v, axes, true) + shift);
  });
}

Value expand_dims(const Value& x, int axis) {
  return expand_dims(x, std::vector{axis});
}

Value expand_dims(const Value& x, const std::vector<int>& axes) {
  const auto rank = static_cast<std::size_t>(x.rank()) + axes.size();
  std::vector<int> dims(rank, 0);
  for (const int place :
       program::places_of(axes, static_cast<int>(rank), "expand_dims"))
    dims[static_cast<std::size_t>(place)] = -1;
  int next = 0;
  for (int& dim : dims)
    if (dim == 0) dim = next++;
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
    dims = program::places_of(*order, rank, "transpose");
  }
  return ProgramBuilder::view(x, dims);
}

Value swapaxes(const Value& x, int a, int b) {
  std::vector<int> dims(static_cast<std::size_t>(x.rank()));
  std::iota(dims.begin(), dims.end(), 0);
  const auto at = [&](int axis) -> int& {
    return dims[static_cast<std::size_t>(
        program::place_of(axis, x.rank(), "swapaxes"))];
  };
  std::swap(at(a), at(b));
  return ProgramBuilder::view(x, dims);
}

Value moveaxis(const Value& x, const std::vector<int>& source,
               const std::vector<int>& destination) {
  const int rank = x.rank();
  if (source.size() != destination.size())
    throw InvalidArgument(concat("moveaxis: expected as many destinations as ",
                                 "sources, got ", destination.size(), " and ",
                                 source.size()));
  const std::vector<int> from = program::places_of(source, rank, "moveaxis");
  const std::vector<int> to = program::places_of(destination, rank, "moveaxis");
  constexpr int kOpen = -1;
  std::vector<int> dims(static_cast<std::size_t>(rank), kOpen);
  for (std::size_t i = 0; i < to.size(); ++i)
    dims[static_cast<std::size_t>(to[i])] = from[i];
  // The others keep their order.
  int next = 0;
  for (int& dim : dims) {
    if (dim != kOpen) continue;
    while (std::ranges::find(from, next) != from.end()) ++next;
    dim = next++;
  }
  return ProgramBuilder::view(x, dims);
}

}  // namespace gpuos
