#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "device/task_abi.h"
#include "gpuos/operator.h"

namespace gpuos {

/// The names in messages about a checked operator.
struct CheckedOperator {
  std::string name;
  DType dtype = DType::Float32;    // of its buffers
  std::vector<std::string> names;  // of its buffers; may be shorter
  std::vector<Parameter> params;
};

/// Returns the number of words of a checked operator's task; see
/// device/fault.h. For an operator with any number of inputs it is constant, so
/// that the device code knows the end.
constexpr std::size_t checked_words(int inputs, std::size_t params,
                                    bool elementwise) noexcept {
  if (inputs < 0) return abi::kMaxArgs;
  const std::size_t buffers = 1 + static_cast<std::size_t>(inputs);
  return buffers + params + (elementwise ? 0 : buffers) + 1;
}

/// Buffers of such a task, at most.
constexpr std::size_t most_checked_buffers(std::size_t params,
                                           bool elementwise) noexcept {
  return (abi::kMaxArgs - 1 - params) / (elementwise ? 1 : 2);
}

}  // namespace gpuos
