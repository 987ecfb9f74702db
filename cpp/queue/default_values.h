#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "gpuos/operator.h"

namespace gpuos {

inline bool has_defaults(std::span<const Parameter> params) noexcept {
  // Parameters with a default value come last.
  return !params.empty() && params.back().default_value.has_value();
}

/// Returns whether all parameters after the first `given` have default values.
inline bool may_be_fewer(std::span<const Parameter> params,
                         std::size_t given) noexcept {
  return given <= params.size() &&
         (given == params.size() || params[given].default_value.has_value());
}

/// Returns `given` and the default values of the parameters after them. Returns
/// nothing if there are too many, or a missing one has no default value.
inline std::optional<std::vector<Scalar>> with_defaults(
    std::span<const Parameter> params, std::span<const Scalar> given) {
  if (!may_be_fewer(params, given.size())) return {};
  std::vector<Scalar> all(given.begin(), given.end());
  for (const Parameter& param : params.subspan(given.size()))
    all.push_back(*param.default_value);
  return all;
}

}  // namespace gpuos
