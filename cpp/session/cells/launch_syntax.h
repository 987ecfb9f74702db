#pragma once

#include <string>
#include <vector>

#include "session/cells/items.h"

namespace gpuos::session {

/// Holds one expression of a launch.
struct LaunchExpression {
  std::string text;
  int line = 1;
  int column = 1;
};

/// Holds "k<float><<<grid, block, shared_bytes, stream>>>(a, 3);".
struct LaunchStatement {
  std::string kernel;
  std::vector<LaunchExpression> config;  // two to four
  std::vector<LaunchExpression> arguments;
};

/// Throws: CompileError with the place in `cell`.
LaunchStatement parse_launch(const Item& item, const std::string& cell);

}  // namespace gpuos::session
