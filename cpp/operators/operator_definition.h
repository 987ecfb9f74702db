#pragma once

#include <memory>
#include <string_view>

#include "gpuos/operator.h"
#include "queue/operator_record.h"

namespace gpuos {

/// Throws: InvalidArgument unless it is letters, digits and '_'.
void check_name(std::string_view name);

/// Throws: InvalidArgument.
void check_definition(const OperatorDefinition& definition);

/// Whether its source is checked: what it says itself, else GPUOS_CHECKED.
/// Throws: InvalidArgument.
bool is_checked(const OperatorDefinition& definition);

/// How many inputs a whole operator takes; -1: any number.
int inputs_of(const OperatorDefinition& definition) noexcept;

/// The dtype of a whole operator's buffers: float32 unless it is said.
DType dtype_of(const OperatorDefinition& definition) noexcept;

/// A whole operator's record, without slots and owner.
std::shared_ptr<OperatorRecord> record_of(const OperatorDefinition& definition);

}  // namespace gpuos
