#pragma once

#include <memory>
#include <string_view>

#include "gpuos/operator.h"
#include "queue/backend.h"
#include "queue/operator_record.h"

namespace gpuos {

/// Checks a name. Throws: InvalidArgument unless it is letters, digits and '_'.
void check_name(std::string_view name);

/// Checks a definition. Throws: InvalidArgument.
void check_definition(const OperatorDefinition& definition);

/// Returns whether the operator's source is checked. GPUOS_CHECKED decides if
/// the definition does not.
/// Throws: InvalidArgument.
bool is_checked(const OperatorDefinition& definition);

/// Returns how many inputs a whole operator takes. -1 means any number.
int inputs_of(const OperatorDefinition& definition) noexcept;

/// Returns the dtype of a whole operator's buffers, which is float32 by
/// default.
DType dtype_of(const OperatorDefinition& definition) noexcept;

/// Returns a whole operator's record, without slots and owner.
std::shared_ptr<OperatorRecord> record_of(const OperatorDefinition& definition);

/// Returns the source of a checked operator. A prelude has the table of its
/// arguments. In its text `float* x = task.pointer<float>(0)` becomes `auto x =
/// task.pointer<float>(0)`, because a plain pointer is not checked. Lines keep
/// their numbers.
CheckedSource checked_source(const OperatorDefinition& definition);

/// Returns the names for messages: the operator's buffers as the source calls
/// them.
std::shared_ptr<const CheckedOperator> checked_operator(
    const OperatorDefinition& definition);

}  // namespace gpuos
