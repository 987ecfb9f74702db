#pragma once

#include <memory>
#include <span>

#include "expression/body.h"
#include "operators/operator_registry.h"
#include "program/program_table.h"

namespace gpuos {

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
