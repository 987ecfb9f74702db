#pragma once

#include <span>
#include <vector>

#include "gpuos/tensor_view.h"
#include "program/call_inputs.h"
#include "program/plan.h"

namespace gpuos::program {

/// The outputs of a plan in one call, which are pieces of the given results.
class CallOutputs {
 public:
  /// Throws: InvalidArgument for other shapes than the results'.
  CallOutputs(const Plan& plan, const CallInputs& inputs,
              std::span<const TensorView> results);
  CallOutputs(const CallOutputs&) = delete;
  CallOutputs& operator=(const CallOutputs&) = delete;

  std::span<const TensorView> views() const noexcept { return views_; }

 private:
  std::vector<TensorView> all_;
  std::span<const TensorView> views_;
};

}  // namespace gpuos::program
