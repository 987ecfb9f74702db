#pragma once

#include <cstdint>

#include "gpuos/operator.h"
#include "gpuos/requests.h"
#include "gpuos/runtime.h"

namespace gpuos::requests {

/// Requests that mean the same as a built-in operator, which is the cheapest
/// way to run one.
class Direct {
 public:
  explicit Direct(Runtime& runtime);

  /// Submits `request` if it is one of them; false if it is none.
  bool submit(const Request& request, const Stream& stream);

 private:
  /// Empty: none.
  const Operator* find(const Request& request) const noexcept;

  Runtime& runtime_;
  Operator add_;
  Operator sub_;
  Operator mul_;
  Operator div_;
  Operator copy_;
  Operator fill_;
};

}  // namespace gpuos::requests
