#pragma once

#include <string>

#include "device/fault.h"
#include "queue/checked_operator.h"

namespace gpuos {

/// What `fault` says, as a TaskError's message.
std::string message_of(const abi::Fault& fault, const CheckedOperator& op);

}  // namespace gpuos
