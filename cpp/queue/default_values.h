#pragma once

#include <optional>
#include <span>
#include <vector>

#include "gpuos/operator.h"

namespace gpuos {

inline bool has_defaults(std::span<const Parameter> params) noexcept {
  // Those that have one come last.
  return !params.empty() && params.back().default_value.has_value();
}

/// `given`, and the default values of the parameters behind them. Nothing if
/// there are too many, or one that has none is missing.
inline std::optional<std::vector<Scalar>> with_defaults(
    std::span<const Parameter> params, std::span<const Scalar> given) {
  if (given.size() > params.size()) return {};
  std::vector<Scalar> all(given.begin(), given.end());
  for (const Parameter& param : params.subspan(given.size())) {
    if (!param.default_value) return {};
    all.push_back(*param.default_value);
  }
  return all;
}

}  // namespace gpuos
