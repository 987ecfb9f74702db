#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace gpuos::jit {

using nvrtcProgram = struct nvrtcProgram_st*;

enum nvrtcResult : int {
  NVRTC_SUCCESS = 0,
  NVRTC_ERROR_INVALID_OPTION = 5,
  NVRTC_ERROR_COMPILATION = 6
};

// X(name, parameters...)
#define GPUOS_NVRTC_FUNCTIONS(X)                                      \
  X(nvrtcVersion, int* major, int* minor)                             \
  X(nvrtcGetNumSupportedArchs, int* count)                            \
  X(nvrtcGetSupportedArchs, int* archs)                               \
  X(nvrtcCreateProgram, nvrtcProgram* program, const char* source,    \
    const char* name, int header_count, const char* const* headers,   \
    const char* const* header_names)                                  \
  X(nvrtcDestroyProgram, nvrtcProgram* program)                       \
  X(nvrtcAddNameExpression, nvrtcProgram program, const char* name)   \
  X(nvrtcGetLoweredName, nvrtcProgram program, const char* name,      \
    const char** lowered)                                             \
  X(nvrtcCompileProgram, nvrtcProgram program, int option_count,      \
    const char* const* options)                                       \
  X(nvrtcGetCUBINSize, nvrtcProgram program, std::size_t* bytes)      \
  X(nvrtcGetCUBIN, nvrtcProgram program, char* cubin)                 \
  X(nvrtcGetPTXSize, nvrtcProgram program, std::size_t* bytes)        \
  X(nvrtcGetPTX, nvrtcProgram program, char* ptx)                     \
  X(nvrtcGetProgramLogSize, nvrtcProgram program, std::size_t* bytes) \
  X(nvrtcGetProgramLog, nvrtcProgram program, char* log)

/// Mirrors the structure of NVRTC's header.
struct nvrtcBundledHeadersInfo {
  int available;
  std::size_t compressed_bytes;
  std::size_t bytes;
  int major;
  int minor;
  unsigned files;
};

// These functions exist from 13.3 on, except those for LTO-IR, which exist from
// 12.0 on.
#define GPUOS_OPTIONAL_NVRTC_FUNCTIONS(X)                               \
  X(nvrtcGetLTOIRSize, nvrtcProgram program, std::size_t* bytes)        \
  X(nvrtcGetLTOIR, nvrtcProgram program, char* ltoir)                   \
  X(nvrtcGetBundledHeadersInfo, nvrtcBundledHeadersInfo* info,          \
    const char** error)                                                 \
  X(nvrtcInstallBundledHeaders, const char* folder, unsigned int flags, \
    const char** error)

/// Holds NVRTC, which is loaded at run time.
struct Nvrtc {
#define GPUOS_DECLARE(name, ...) nvrtcResult (*name)(__VA_ARGS__) = nullptr;
  GPUOS_NVRTC_FUNCTIONS(GPUOS_DECLARE)
  GPUOS_OPTIONAL_NVRTC_FUNCTIONS(GPUOS_DECLARE)  // null: there is none
#undef GPUOS_DECLARE
  const char* (*nvrtcGetErrorString)(nvrtcResult) = nullptr;
  /// Exists since 12.9 and is null before. `callback(payload, nullptr)` returns
  /// 1 to cancel.
  nvrtcResult (*nvrtcSetFlowCallback)(nvrtcProgram program,
                                      int (*callback)(void*, void*),
                                      void* payload) = nullptr;

  int major = 0;
  int minor = 0;
  std::string path;
  std::string file;        // describe_file() of it
  std::string builtins;    // path of its second library, or empty
  std::vector<int> archs;  // compute capabilities, ascending: 75, 80, ...
};

/// Returns NVRTC. The first call that finds it opens it, and it is never
/// closed.
/// Threads: any.
/// Throws: BackendUnavailable with the places that were searched.
const Nvrtc& nvrtc();

/// Returns the file name of the library that NVRTC opens at the first compile.
std::string builtins_name(const Nvrtc& api);

}  // namespace gpuos::jit
