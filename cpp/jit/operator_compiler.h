#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "jit/image.h"
#include "jit/unit_compiler.h"

namespace gpuos::jit {

/// Source of operators for one device.
struct CompileRequest {
  std::string source;                // device code; "gpuos/operator.h" and its
                                     // neighbours can be included
  std::string file_name;             // for messages, such as "axpy.cu"
  std::vector<std::string> entries;  // GPUOS_OPERATOR names in it
  int compute_capability = 90;       // major * 10 + minor
  Budget budget;
  /// Soon rather than well. Code that does not fit then is compiled well.
  bool is_draft = false;
  std::vector<Object> objects{};  // linked with them
};

/// Compile, link and check. The result is in the process's memory cache, so a
/// second request with the same text costs microseconds, and in the disk
/// cache, so that another process does not compile it. A source that includes
/// files of the user's is compiled each time.
///
/// Threads: any; no lock is held while NVRTC runs; a request that is being
/// compiled already is waited for.
/// Throws: CompileError (with the log; a misfit names both numbers),
/// BackendUnavailable (NVRTC or a linker is missing: what to install).
Image compile_operators(const CompileRequest& request);

/// Open the compiler and do what the first compile_operators() would have to
/// do, so that it takes no longer than the others. Takes up to 0.3 s.
/// Throws: like compile_operators().
void prepare_compiler(int compute_capability);

/// The worker kernel and the built-in operators, compiled by NVRTC from the
/// embedded sources and linked, or from the disk cache.
/// Throws: like compile_operators().
std::string compile_worker(int compute_capability);

/// The counters of this process, for tests and statistics.
struct CompilerStats {
  std::uint64_t compiled = 0;   // operator requests that were compiled
  std::uint64_t cached = 0;     // operator requests answered from memory
  std::uint64_t from_disk = 0;  // images read from the disk cache
};
CompilerStats compiler_stats() noexcept;

}  // namespace gpuos::jit
