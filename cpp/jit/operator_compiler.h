#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "jit/objects/image.h"
#include "jit/unit_compiler.h"

namespace gpuos::jit {

/// Holds the source of operators for one device.
struct CompileRequest {
  std::string source;                // device code; "gpuos/operator.h" and its
                                     // neighbours can be included
  std::string file_name;             // for messages, such as "axpy.cu"
  std::vector<std::string> entries;  // GPUOS_OPERATOR names in it
  int compute_capability = 90;       // major * 10 + minor
  Budget budget;
  /// Asks for code soon rather than for good code. A draft that does not fit is
  /// compiled again with optimisation.
  bool is_draft = false;
  std::vector<Object> objects{};  // linked with them
};

/// Compiles, links and checks. The memory cache of the process keeps the
/// result, so a second request with an equal text costs microseconds. The disk
/// cache keeps it too, so another process does not compile it. A source that
/// includes files of the user is compiled each time.
///
/// Threads: any. No lock is held while NVRTC runs. A request that is being
/// compiled already is waited for.
/// Throws: CompileError with the log, where a misfit names both numbers. Throws
/// BackendUnavailable with the package to install if NVRTC or a linker is
/// missing.
Image compile_operators(const CompileRequest& request);

/// Opens the compiler and does the first steps of compile_operators(), so that
/// its first call takes no longer than others. This takes up to 0.3 s.
/// Throws: the errors of compile_operators().
void prepare_compiler(int compute_capability);

/// Compiles the worker kernel and the built-in operators with NVRTC from the
/// embedded sources and links them. Takes them from the disk cache if they are
/// there.
/// Throws: the errors of compile_operators().
std::string compile_worker(int compute_capability);

/// Holds the counters of this process, for tests and statistics.
struct CompilerStats {
  std::uint64_t compiled = 0;   // operator requests that were compiled
  std::uint64_t cached = 0;     // operator requests answered from memory
  std::uint64_t from_disk = 0;  // images read from the disk cache
};
CompilerStats compiler_stats() noexcept;

}  // namespace gpuos::jit
