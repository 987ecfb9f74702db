#include "session/definition.h"

#include "base/concat.h"

namespace gpuos::session {

std::string Definition::title() const {
  const char* kind = is_variable() ? "variable"
                     : is_kernel() ? "kernel"
                                   : "function";
  return concat(kind, " ", qualified_name(), " (", cell, ")");
}

}  // namespace gpuos::session
