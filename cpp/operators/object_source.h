#pragma once

#include <string>

#include "gpuos/operator.h"

namespace gpuos {

/// The source that makes an operator of a function from another compiler.
struct ObjectSource {
  /// The declaration in C: "float f(float, float)".
  std::string declaration;
  /// The signature as linkers compare it: the result, then the parameters. 'v'
  /// is nothing, 'i' 4 bytes or less, 'l' 8 bytes.
  std::string signature;
  /// GPUOS_OPERATOR(name) { ... } that calls it.
  std::string source;
};

/// `result`: what the function gives back where the declaration says void, as a
/// signature has it.
/// Throws: InvalidArgument if C has no such function: a dtype that is no C
/// type, or any number of inputs.
ObjectSource object_source(const OperatorDefinition& definition,
                           const std::string& symbol, char result = 'v');

}  // namespace gpuos
