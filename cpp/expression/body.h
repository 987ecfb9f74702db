#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "device/task_abi.h"
#include "expression/expression.h"
#include "gpuos/tensor_view.h"

namespace gpuos::expression {

/// Holds an operator's expression until it is replaced, and the programs that
/// calls made of it. There is one program for each combination of dtypes and
/// ranks. They are freed with the expression.
///
/// Threads: any.
class Body {
 public:
  /// Makes a body for arrays of `dtypes`, or of any dtype if `dtypes` is empty.
  Body(Expression expression, std::vector<DType> dtypes)
      : expression_(std::move(expression)), dtypes_(std::move(dtypes)) {}
  ~Body();
  Body(const Body&) = delete;
  Body& operator=(const Body&) = delete;

  const Expression& expression() const noexcept { return expression_; }

  /// Returns the plan for these arrays. Throws: InvalidArgument for a dtype
  /// that the body does not accept, and the errors of program_of().
  const std::shared_ptr<const program::Plan>& plan_for(
      std::span<const TensorView> inputs, const TensorView& out) const;

 private:
  /// Holds the dtypes and ranks of the output, then of the inputs.
  using Key = std::array<std::uint16_t, abi::kMaxArgs>;
  struct Known {
    Key key;
    std::shared_ptr<const program::Plan> plan;
    const Known* before = nullptr;
  };

  const Known& make(const Key& key, std::span<const TensorView> inputs,
                    const TensorView& out) const;
  void check(const TensorView& view) const;

  const Expression expression_;
  const std::vector<DType> dtypes_;
  mutable std::mutex making_;
  // The load pairs with the store in make(). A reader that finds an entry sees
  // all of it.
  mutable std::atomic<const Known*> newest_{nullptr};
};

}  // namespace gpuos::expression
