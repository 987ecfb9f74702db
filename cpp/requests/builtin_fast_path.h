#pragma once

#include "gpuos/operator.h"
#include "gpuos/requests.h"
#include "gpuos/runtime.h"
#include "requests/level_calls.h"

namespace gpuos::requests {

/// Requests that mean the same as a built-in operator, which is the cheapest
/// way to run one.
class BuiltinFastPath {
 public:
  explicit BuiltinFastPath(Runtime& runtime);

  /// Adds `request` to `calls` if it means a built-in operator. Returns false
  /// otherwise.
  /// Throws: as LevelCalls::add().
  bool add(const Request& request, LevelCalls& calls) const;

 private:
  /// Null: none.
  const Operator* find(const Request& request) const noexcept;

  Operator add_;
  Operator sub_;
  Operator mul_;
  Operator div_;
  Operator copy_;
  Operator fill_;
};

}  // namespace gpuos::requests
