#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace gpuos::jit {

using nvJitLinkHandle = struct nvJitLink*;

enum nvJitLinkResult : int { NVJITLINK_SUCCESS = 0 };

enum nvJitLinkInputType : int {
  NVJITLINK_INPUT_CUBIN = 1,
  NVJITLINK_INPUT_PTX = 2,
  NVJITLINK_INPUT_LTOIR = 3
};

// X(name, parameters...)
#define GPUOS_NVJITLINK_FUNCTIONS(X)                                         \
  X(nvJitLinkCreate, nvJitLinkHandle* handle, std::uint32_t option_count,    \
    const char* const* options)                                              \
  X(nvJitLinkDestroy, nvJitLinkHandle* handle)                               \
  X(nvJitLinkAddData, nvJitLinkHandle handle, nvJitLinkInputType type,       \
    const void* data, std::size_t bytes, const char* name)                   \
  X(nvJitLinkComplete, nvJitLinkHandle handle)                               \
  X(nvJitLinkGetLinkedCubinSize, nvJitLinkHandle handle, std::size_t* bytes) \
  X(nvJitLinkGetLinkedCubin, nvJitLinkHandle handle, void* cubin)            \
  X(nvJitLinkGetLinkedPtxSize, nvJitLinkHandle handle, std::size_t* bytes)   \
  X(nvJitLinkGetLinkedPtx, nvJitLinkHandle handle, char* ptx)                \
  X(nvJitLinkGetErrorLogSize, nvJitLinkHandle handle, std::size_t* bytes)    \
  X(nvJitLinkGetErrorLog, nvJitLinkHandle handle, char* log)

/// Holds nvJitLink, which is loaded at run time.
struct NvJitLink {
#define GPUOS_DECLARE(name, ...) nvJitLinkResult (*name)(__VA_ARGS__) = nullptr;
  GPUOS_NVJITLINK_FUNCTIONS(GPUOS_DECLARE)
#undef GPUOS_DECLARE

  int major = 0;
  int minor = 0;
  std::string path;
  std::string file;  // describe_file() of it
};

/// Returns a linker that reads the output of NVRTC `major`.`minor`. It is the
/// first one that is at least as new, within an equal major version. Returns
/// null without one. The function keeps its first answer.
/// Threads: any.
const NvJitLink* try_nvjitlink(int major, int minor);

}  // namespace gpuos::jit
