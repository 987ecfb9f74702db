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

/// An operator's expression until it is replaced, and the programs that calls
/// made of it. There is one for each combination of dtypes and ranks. They are
/// freed with the expression.
///
/// Threads: any.
class Body {
 public:
  /// `dtypes`: the dtypes of its arrays; empty: any.
  Body(Expression expression, std::vector<DType> dtypes)
      : expression_(std::move(expression)), dtypes_(std::move(dtypes)) {}
  ~Body();
  Body(const Body&) = delete;
  Body& operator=(const Body&) = delete;

  const Expression& expression() const noexcept { return expression_; }

  /// Throws: InvalidArgument for a dtype that it is not for, and as
  /// program_of().
  const std::shared_ptr<const program::Plan>& plan_for(
      std::span<const TensorView> inputs, const TensorView& out) const;

 private:
  /// The dtypes and ranks of the output, then of the inputs.
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
  // Pairs with the store in make(): a reader that finds an entry sees all of
  // it.
  mutable std::atomic<const Known*> newest_{nullptr};
};

}  // namespace gpuos::expression
