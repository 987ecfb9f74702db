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

/// The library that an earlier process kept of this very request, else what
/// `compile` returns, which is kept: for this kind of processor, this compiler
/// called in this way, and the files that it has read. Processes that ask for
/// one at a time wait for the first. Throws: what `compile` throws.
std::string kept_or_compiled(const HostCompiler& compiler,
                             const std::vector<std::string>& options,
                             const HostCompileRequest& request,
                             const std::function<CompiledLibrary()>& compile);

}  // namespace gpuos::host
