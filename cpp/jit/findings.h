#pragma once

#include <string>
#include <vector>

#include "gpuos/diagnose.h"

namespace gpuos::jit {

Finding missing(std::string what, std::string hint,
                std::vector<std::string> searched = {});
Finding found(std::string what, std::string version, std::string where,
              std::vector<std::string> searched = {});

/// Adds NVRTC, nvJitLink and the headers that operators may include.
void add_findings(std::vector<Finding>& findings);

}  // namespace gpuos::jit
