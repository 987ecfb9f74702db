#include "jit/toolkit/header_packages.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/c_text.h"
#include "base/concat.h"

namespace gpuos::jit {
namespace {

// Holds one package under its names for CUDA 13 and newer, and for 12. It also
// tells if its versions are CUDA's own.
struct Package {
  std::string_view name;
  std::string_view name12;
  bool has_cuda_version;
};
constexpr Package kRuntime{"nvidia-cuda-runtime", "nvidia-cuda-runtime-cu12",
                           true};
constexpr Package kCompiler{"nvidia-cuda-crt", "nvidia-cuda-nvcc-cu12", true};
constexpr Package kCccl{"nvidia-cuda-cccl", "nvidia-cuda-cccl-cu12", true};
constexpr Package kRandom{"nvidia-curand", "nvidia-curand-cu12", false};
constexpr Package kTools{"nvidia-nvtx", "nvidia-nvtx-cu12", false};
constexpr Package kBlas{"nvidia-cublas", "nvidia-cublas-cu12", false};
constexpr Package kFft{"nvidia-cufft", "nvidia-cufft-cu12", false};

constexpr std::array kCooperative{kRuntime, kCccl};
constexpr std::array kMatrix{kRuntime, kCompiler};
constexpr std::array kAllHeaders{kRuntime, kCompiler, kCccl};

// Names the package of a whole folder or family of headers.
struct HeaderFamily {
  std::string_view prefix;
  std::span<const Package> packages;
};
constexpr std::array<HeaderFamily, 11> kFamilies{{
    {"cuda/", {&kCccl, 1}},
    {"cub/", {&kCccl, 1}},
    {"thrust/", {&kCccl, 1}},
    {"nv/", {&kCccl, 1}},
    {"crt/", {&kCompiler, 1}},
    {"cooperative_groups", kCooperative},
    {"mma.h", kMatrix},
    {"curand", {&kRandom, 1}},
    {"nvtx3/", {&kTools, 1}},
    {"cublas", {&kBlas, 1}},
    {"cufft", {&kFft, 1}},
}};

// These names count as a whole, because a user may well have a cuda_utils.h.
constexpr std::string_view kRuntimeHeaders =
    "builtin_types channel_descriptor common_functions cuComplex cuda "
    "cuda_awbarrier cuda_bf16 cuda_device_runtime_api cuda_fp16 cuda_fp4 "
    "cuda_fp6 cuda_fp8 cuda_occupancy cuda_pipeline cuda_pipeline_primitives "
    "cuda_runtime cuda_runtime_api cuda_surface_types cuda_texture_types "
    "cuda_tf32 cudart_platform device_atomic_functions device_double_functions "
    "device_functions device_launch_parameters device_types driver_functions "
    "driver_types host_config host_defines library_types math_constants "
    "math_functions surface_functions surface_indirect_functions surface_types "
    "texture_fetch_functions texture_indirect_functions texture_types "
    "vector_functions vector_types";

/// Returns an empty span if no package has the header.
std::span<const Package> packages_of(std::string_view header) {
  for (const HeaderFamily& row : kFamilies)
    if (header.starts_with(row.prefix)) return row.packages;
  const std::string_view stem = header.substr(0, header.rfind('.'));
  if (stem.size() < header.size() && is_identifier(stem) &&
      has_name(kRuntimeHeaders, stem))
    return {&kRuntime, 1};
  return {};
}

std::string pip_install(std::span<const Package> packages, int cuda_major) {
  std::string command = "pip install";
  for (const Package& package : packages) {
    if (cuda_major < 13)
      command += concat(" ", package.name12);
    else if (package.has_cuda_version)
      command += concat(" \"", package.name, "==", cuda_major, ".*\"");
    else
      command += concat(" ", package.name);
  }
  return command;
}

std::string names_of(std::span<const Package> packages, int cuda_major) {
  std::string names;
  for (const Package& package : packages)
    names += concat(names.empty() ? "" : " and ",
                    cuda_major < 13 ? package.name12 : package.name);
  return names;
}

constexpr std::string_view kNoLibrary = "NVRTC has no standard library; ";

bool is_standard_c(std::string_view header) {
  constexpr std::array<std::string_view, 8> kNames{
      "cstdio",    "cstdlib", "cstring",  "complex.h",
      "stdbool.h", "stdio.h", "stdlib.h", "string.h"};
  return std::ranges::find(kNames, header) != kNames.end();
}

// Returns whether CCCL has the header under cuda/std/. NVRTC has none of them.
bool is_of_cccl(std::string_view header) {
  constexpr std::string_view kNames =
      "algorithm array atomic barrier bit bitset charconv chrono complex "
      "concepts variant expected functional inplace_vector iterator "
      "initializer_list latch mdspan memory numbers numeric optional ranges "
      "ratio semaphore source_location span string_view tuple utility";
  return is_identifier(header) && has_name(kNames, header);
}

bool is_standard_cpp(std::string_view header) {
  return !header.empty() &&
         header.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789") ==
             header.npos;
}

std::string other_library_hint(std::string_view header) {
  if (!header.starts_with("cupy/")) return "";
  return "gpuos does not have CuPy's headers; cuda/std/complex has complex "
         "numbers, and an array reaches a kernel as its address";
}

}  // namespace

std::string package_hint(std::string_view header, int cuda_major) {
  const std::span<const Package> packages = packages_of(header);
  if (packages.empty()) return "";
  return concat(header, " comes with ", names_of(packages, cuda_major),
                "; install it with: ", pip_install(packages, cuda_major));
}

std::string standard_c_hint(std::string_view header) {
  if (!is_standard_c(header)) return "";
  return concat(kNoLibrary,
                "the functions of C that CUDA C++ has, such as printf, malloc "
                "and memcpy, work without the #include");
}

std::string standard_hint(std::string_view header) {
  if (std::string hint = other_library_hint(header); !hint.empty()) return hint;
  if (std::string hint = standard_c_hint(header); !hint.empty()) return hint;
  if (is_of_cccl(header))
    return concat(kNoLibrary, "CCCL has this header as cuda/std/", header);
  if (is_standard_cpp(header))
    return concat(kNoLibrary, "CCCL does not have <", header, "> either");
  return "";
}

std::string install_cuda_headers(int cuda_major) {
  return pip_install(kMatrix, cuda_major);
}

std::string install_cccl_headers(int cuda_major) {
  return pip_install({&kCccl, 1}, cuda_major);
}

std::string install_all_headers(int cuda_major) {
  return pip_install(kAllHeaders, cuda_major);
}

std::string_view install_compiler(int cuda_major) {
  return cuda_major < 13 ? kInstallCompiler12 : kInstallCompiler;
}

std::string reinstall_nvrtc(int major, int minor) {
  return concat(
      "install both again with: pip install --force-reinstall "
      "\"nvidia-cuda-nvrtc",
      major < 13 ? "-cu12" : "", "==", major, ".", minor, ".*\"");
}

}  // namespace gpuos::jit
