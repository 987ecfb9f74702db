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
#include "operators/operator_registry.h"
#include "program/calls/program_table.h"

namespace gpuos {

namespace expression {

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

}  // namespace expression

/// Holds operators that are expressions. Each call runs a program.
///
/// Threads: any.
class ExpressionOperators {
 public:
  explicit ExpressionOperators(ProgramTable& programs) : programs_(programs) {}

  /// Makes a record that has no name yet. Throws: InvalidArgument.
  static std::shared_ptr<OperatorRecord> record_of(
      const OperatorDefinition& definition);
  /// Makes the record that replaces `replaced`. Inputs of equal names keep
  /// their places, even if they are used in another order.
  static std::shared_ptr<OperatorRecord> record_of(
      const OperatorDefinition& definition, const OperatorRecord& replaced);

  /// Submits an operator that has this body, as Runtime::submit() does.
  Ticket submit(const OperatorRecord& op, const expression::Body& body,
                std::span<const TensorView> inputs, const TensorView& out,
                std::span<const Scalar> params, const Stream& stream,
                const ProgramTable::Allocate& allocate);
  /// Returns false if nothing was queued and submit() must do it.
  bool try_submit(const OperatorRecord& op, const expression::Body& body,
                  std::span<const TensorView> inputs, const TensorView& out,
                  std::span<const Scalar> params, const Stream& stream,
                  Ticket& ticket);
  Ticket submit_many(const OperatorRecord& op, const expression::Body& body,
                     const ManyTasks& many, const Stream& stream);

 private:
  ProgramTable& programs_;
};

}  // namespace gpuos
