#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "host/host_image.h"

namespace gpuos::host {

// Limits of a compiler's output, files and memory.
inline constexpr std::size_t kMaxLogBytes = 64 * 1024;
inline constexpr std::size_t kMaxImageBytes = 256 * 1024 * 1024;
inline constexpr std::chrono::seconds kCompilerTimeout{60};

/// A C++ compiler of this machine.
struct HostCompiler {
  std::string path;
  std::vector<std::string> command;  // the path, or more if CXX has more words
};

/// Returns the words of CXX, else the first of c++, g++ and clang++ in PATH.
/// Throws: BackendUnavailable, saying what to install.
HostCompiler find_host_compiler();

/// Where find_host_compiler() looks: CXX, then the folders of PATH.
std::vector<std::string> compiler_places();

/// Returns the first line of its `--version`, or an empty text if that fails.
/// Throws: Cancelled.
std::string version_of(const HostCompiler& compiler);

struct HostCompileRequest {
  std::string source;  // contains GPUOS_OPERATOR(entry); can include
                       // "gpuos/operator.h" and its neighbours
  std::string entry;
  std::chrono::milliseconds timeout{kCompilerTimeout};
  bool is_awaited = true;  // else the compiler leaves processors to others
  std::string prelude{};   // is put before the first line of the source
};

/// Compiles and opens an operator. Images of earlier requests with the same
/// source are reused and only opened again: static data is initialized each
/// time.
///
/// Threads: any; no lock is held while the compiler runs.
/// Throws: CompileError (with the log), BackendUnavailable, Error.
HostModule compile_host_operator(const HostCompileRequest& request);

}  // namespace gpuos::host
