#pragma once

#include <string>
#include <string_view>

namespace gpuos::jit {

/// Returns "cub/cub.cuh comes with nvidia-cuda-cccl; install it with: pip
/// install ...". Returns an empty text for a header that is neither CUDA's nor
/// CCCL's. `cuda_major` is NVRTC's, and the packages must fit it.
std::string package_hint(std::string_view header, int cuda_major);

/// Returns what to use instead of a header of C. It is empty for other headers.
std::string standard_c_hint(std::string_view header);

/// Returns what to include instead of a header of the standard library. It is
/// empty for other headers.
std::string standard_hint(std::string_view header);

/// Returns pip install with the packages of CUDA's own headers, or of CCCL's.
std::string install_cuda_headers(int cuda_major);
std::string install_cccl_headers(int cuda_major);

/// Returns the command that installs both.
std::string install_all_headers(int cuda_major);

/// Holds commands for the packages of NVRTC and nvJitLink.
inline constexpr std::string_view kInstallCompiler =
    "pip install nvidia-cuda-nvrtc nvidia-nvjitlink";
inline constexpr std::string_view kInstallCompiler12 =
    "pip install nvidia-cuda-nvrtc-cu12 nvidia-nvjitlink-cu12";
inline constexpr std::string_view kNewerCompiler =
    "pip install -U nvidia-cuda-nvrtc nvidia-nvjitlink";
std::string_view install_compiler(int cuda_major);
/// Returns the command that repairs an NVRTC of this version.
std::string reinstall_nvrtc(int major, int minor);

}  // namespace gpuos::jit
