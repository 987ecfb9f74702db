#pragma once

#include <string>

#include "device/fault.h"
#include "queue/checked_operator.h"

namespace gpuos {

/// Returns the message of a TaskError for `fault`.
std::string message_of(const abi::Fault& fault, const CheckedOperator& op);

}  // namespace gpuos
