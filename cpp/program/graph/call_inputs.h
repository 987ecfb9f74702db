#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "gpuos/tensor_view.h"
#include "program/graph/index_axis.h"
#include "program/graph/plan.h"

namespace gpuos::program {

/// The inputs of a plan in one call: its arguments, and views of them.
class CallInputs {
 public:
  /// Throws: InvalidArgument for another number or rank of arguments, and for
  /// shapes that do not have such a view.
  CallInputs(const Plan& plan, std::span<const TensorView> arguments);
  CallInputs(const CallInputs&) = delete;
  CallInputs& operator=(const CallInputs&) = delete;

  std::span<const TensorView> views() const noexcept { return views_; }
  /// Returns the range of part number `part` along the axis of input `joined`.
  IndexedAxis part_of(std::size_t joined, std::size_t part) const;
  std::int64_t size_of(const DimSet& whole) const;

 private:
  void add(const TensorView& view);
  TensorView make(const InputSource& source) const;
  TensorView index(const InputSource& source) const;
  TensorView reshape(const InputSource& source) const;
  TensorView shape(const InputSource& source) const;
  TensorView joined(const InputSource& source) const;
  IndexedAxis kept_of(const AxisIndex& axis, const DimSet& whole,
                      std::int64_t size) const;

  const Plan& plan_;
  std::vector<TensorView> all_;
  std::array<const std::int64_t*, kMaxInputs> shapes_;
  std::span<const TensorView> views_;
};

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
