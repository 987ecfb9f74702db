#pragma once

#include <string>

#include "base/concat.h"
#include "jit/operator_compiler.h"

namespace gpuos::jit {

inline CompileRequest request_for(const std::string& name,
                                  const std::string& source,
                                  int compute_capability = 90) {
  return {.source = concat("#include \"gpuos/operator.h\"\n", source),
          .file_name = concat(name, ".cu"),
          .entries = {name},
          .compute_capability = compute_capability,
          .budget = {.registers = 64, .stack_bytes = 1024}};
}

}  // namespace gpuos::jit
