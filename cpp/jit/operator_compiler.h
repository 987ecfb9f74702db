#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "jit/image.h"

namespace gpuos::jit {

/// Source of operators for one device.
struct CompileRequest {
  std::string source;                // device code; "gpuos/operator.h" and its
                                     // neighbours can be included
  std::string file_name;             // for messages, such as "axpy.cu"
  std::vector<std::string> entries;  // GPUOS_OPERATOR names in it
  int compute_capability = 90;       // major * 10 + minor
  Budget budget;
};

/// Compile, link and check. The result is in the process's memory cache, so a
/// second request with the same text costs microseconds.
///
/// Threads: any; no lock is held while NVRTC runs.
/// Throws: CompileError (with the log; a misfit names both numbers),
/// BackendUnavailable (NVRTC or a linker is missing: what to install).
Image compile_operators(const CompileRequest& request);

/// The worker kernel and the built-in operators, compiled now by NVRTC from
/// the embedded sources and linked.
std::string compile_worker(int compute_capability);

/// Registers, stack and memory of `function` in a linked CUBIN, read from its
/// ELF sections. Throws: CompileError if there is no such function.
Resources read_resources(std::string_view cubin, std::string_view function);

}  // namespace gpuos::jit
