// PyTorch's meaning of each row recipe, as values of a program.
#include <vector>

#include "base/concat.h"
#include "gpuos/error.h"
#include "gpuos/program_functions.h"
#include "gpuos/program_reductions.h"
#include "requests/recipe_values.h"

namespace gpuos::requests {
namespace {

// Returns the axes of a mask. All of them are "all", which an argmax needs.
Axes axes_of(std::uint8_t mask, int rank) {
  if (mask + 1u == 1u << rank) return std::nullopt;
  std::vector<int> axes;
  for (int d = 0; d < rank; ++d)
    if ((mask >> d & 1) != 0) axes.push_back(d);
  return axes;
}

// `correction` is taken off the count, not below 0.
Value variance(const Value& x, const Value& correction, const Axes& axes,
               bool keepdims) {
  const Value count = ProgramBuilder::extent(x, axes) - correction;
  return sum(square(x - mean(x, axes, true)), axes, keepdims) /
         maximum(count, 0);
}

Value layer_norm(const Value& x, const Value& eps, const Axes& axes) {
  const Value centered = x - mean(x, axes, true);
  return centered * rsqrt(mean(square(centered), axes, true) + eps);
}

Value rms_norm(const Value& x, const Value& eps, const Axes& axes) {
  return x * rsqrt(mean(square(x), axes, true) + eps);
}

}  // namespace

Value row_value(Recipe recipe, DType compute, std::uint8_t mask, bool keepdims,
                std::span<const Value> operands) {
  std::array<Value, kMaxRequestOperands> x;
  for (std::size_t i = 0; i < operands.size(); ++i)
    x[i] = astype(operands[i], compute);
  const Axes axes = axes_of(mask, x[0].rank());
  switch (recipe) {
    case Recipe::Sum:
      return sum(x[0], axes, keepdims);
    case Recipe::Mean:
      return mean(x[0], axes, keepdims);
    case Recipe::Prod:
      return prod(x[0], axes, keepdims);
    case Recipe::Amax:
      return max(x[0], axes, keepdims);
    case Recipe::Amin:
      return min(x[0], axes, keepdims);
    case Recipe::Argmax:
      return argmax(x[0], axes, keepdims);
    case Recipe::Argmin:
      return argmin(x[0], axes, keepdims);
    case Recipe::Any:
      return any(x[0], axes, keepdims);
    case Recipe::All:
      return all(x[0], axes, keepdims);
    case Recipe::Var:
      return variance(x[0], x[1], axes, keepdims);
    case Recipe::Std:
      return sqrt(variance(x[0], x[1], axes, keepdims));
    case Recipe::Logsumexp:
      return logsumexp(x[0], axes, keepdims);
    case Recipe::Norm:
      return norm(x[0], 2, axes, keepdims);
    case Recipe::Softmax:
      return softmax(x[0], axes);
    case Recipe::LogSoftmax:
      return log_softmax(x[0], axes);
    case Recipe::LayerNorm:
      return layer_norm(x[0], x[3], axes) * x[1] + x[2];
    case Recipe::LayerNormPlain:
      return layer_norm(x[0], x[1], axes);
    case Recipe::RmsNorm:
      return rms_norm(x[0], x[2], axes) * x[1];
    case Recipe::RmsNormPlain:
      return rms_norm(x[0], x[1], axes);
    default:
      throw InvalidArgument(
          concat("request: unknown recipe ", static_cast<int>(recipe)));
  }
}

}  // namespace gpuos::requests
