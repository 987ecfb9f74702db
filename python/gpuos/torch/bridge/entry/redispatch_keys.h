// Where an operator goes that the mode does not take.
#pragma once

#include <optional>

#include "flush/pending.h"
#include "pytorch/keys.h"

namespace gpuos::bridge {

/// The keys to redispatch with, for the time of that call: to the place below
/// autograd, or to a kernel of PyTorch that nothing is deferred in.
class RedispatchKeys {
 public:
  /// `op` is the operator.
  RedispatchKeys(DispatchKeySet keys, const Cause& op)
      : keys_(keys & kBelowMode) {
    if (C10_LIKELY(!keys.has_any(kMadeOfOthers))) {
      keys_ = keys_.add(kPendingKey);
      return;
    }
    run_by_pytorch.add(op);
    if (!pending.is_empty()) pending.flush(op);
    without_.emplace();
  }

  operator DispatchKeySet() const { return keys_; }

 private:
  DispatchKeySet keys_;
  std::optional<WithoutMode> without_;
};

}  // namespace gpuos::bridge
