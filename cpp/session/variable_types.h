#pragma once

#include <map>
#include <string>

#include "session/compiling.h"
#include "session/definition.h"
#include "session/header.h"

namespace gpuos::session {

/// How C++ spells the types of the device's variables, which the compiler
/// finds: a definition is text.
class VariableTypes {
 public:
  VariableTypes(const Header& header, Compiler& compiler)
      : header_(header), compiler_(compiler) {}

  /// "int [3]". Compiles something small, once for a type.
  /// Throws: CompileError.
  std::string find(const Definition& variable);

 private:
  static constexpr std::size_t kMost = 1024;

  const Header& header_;
  Compiler& compiler_;
  std::map<std::string, std::string> known_;  // by source
};

}  // namespace gpuos::session
