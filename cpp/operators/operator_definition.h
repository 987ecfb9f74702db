#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "expression/expression.h"
#include "gpuos/operator.h"
#include "queue/operator_record.h"

namespace gpuos {

/// Throws: InvalidArgument unless it is letters, digits and '_'.
void check_name(std::string_view name);

/// Throws: InvalidArgument.
void check_definition(const OperatorDefinition& definition);

/// Empty for a whole operator. Throws: InvalidArgument.
std::optional<Expression> parse(const OperatorDefinition& definition);

/// Whether all inputs of `expression` are among `names`.
bool uses_only(const Expression& expression,
               const std::vector<std::string>& names);

/// A record without slots and owner.
std::shared_ptr<OperatorRecord> record_of(
    const OperatorDefinition& definition,
    const std::optional<Expression>& expression);

}  // namespace gpuos
