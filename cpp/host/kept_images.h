#pragma once

#include <functional>
#include <string>
#include <vector>

#include "host/host_compiler.h"

namespace gpuos::host {

/// The output of a compiler, and its dependencies_from().
struct CompiledLibrary {
  std::string bytes;
  std::string dependencies;
};

/// Returns the library that an earlier process cached for the same request,
/// else the result of `compile`, which is cached. The cache depends on the
/// processor type, the compiler and its options, and the files that it has
/// read. Concurrent processes with one request wait for the first.
/// Throws: the exceptions of `compile`.
std::string kept_or_compiled(const HostCompiler& compiler,
                             const std::vector<std::string>& options,
                             const HostCompileRequest& request,
                             const std::function<CompiledLibrary()>& compile);

}  // namespace gpuos::host
