#pragma once

#include <map>
#include <string>

#include "session/compiling.h"
#include "session/definition.h"
#include "session/header.h"

namespace gpuos::session {

/// Finds the C++ spelling of the types of the device's variables. The compiler
/// finds them, because a definition is text.
class VariableTypes {
 public:
  VariableTypes(const Header& header, Compiler& compiler)
      : header_(header), compiler_(compiler) {}

  /// Returns "int [3]". Compiles a small source once for each type.
  /// Throws: CompileError.
  std::string find(const Definition& variable);

 private:
  static constexpr std::size_t kMost = 1024;

  const Header& header_;
  Compiler& compiler_;
  std::map<std::string, std::string> known_;  // by source
};

}  // namespace gpuos::session
