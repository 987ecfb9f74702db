#include "jit/headers/cuda_headers.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "base/concat.h"
#include "base/config.h"
#include "jit/cache/cache_folder.h"
#include "jit/cache/disk_cache.h"
#include "jit/toolkit/compile_log.h"
#include "jit/toolkit/header_packages.h"
#include "jit/toolkit/shared_library.h"

namespace gpuos::jit {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 2> kSystemFolders{"/usr/include",
                                                         "/usr/local/include"};
#if defined(__aarch64__)
constexpr std::string_view kTarget = "targets/sbsa-linux";
#else
constexpr std::string_view kTarget = "targets/x86_64-linux";
#endif

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

/// Returns the number after `#define name`, or 0 if there is none.
int read_define(const fs::path& path, std::string_view name) {
  std::ifstream file(path);
  const std::string start = concat("#define ", name, " ");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(start)) continue;
    const std::size_t at = line.find_first_not_of(' ', start.size());
    int value = 0;
    if (at != line.npos)
      std::from_chars(line.data() + at, line.data() + line.size(), value);
    return value;
  }
  return 0;
}

// Returns CUDA's version: 13000 is 13.0.
int cuda_version(const fs::path& include) {
  const int version =
      read_define(include / "cuda_runtime_api.h", "CUDART_VERSION");
  return version != 0 ? version
                      : read_define(include / "cuda.h", "CUDA_VERSION");
}

class Search {
 public:
  explicit Search(int cuda_major) : cuda_major_(cuda_major) {}

  void look_beside(const std::string& library_folder) {
    fs::path folder(library_folder);
    if (!folder.has_filename()) folder = folder.parent_path();
    const fs::path root = folder.parent_path();
    if (root.empty()) return;
    const fs::path parent = root.parent_path();
    add_root(root);
    // The wheel of CCCL for CUDA 12 has no library in its folder.
    if (parent.filename() != "nvidia" ||
        !add_place((parent / "*" / "include").string()))
      return;
    for (const std::string& wheel : folders_in(parent.string()))
      add_include(fs::path(wheel) / "include");
  }

  HeaderSearch take() { return std::move(found_); }

 private:
  /// Returns false if the place was searched before.
  bool add_place(std::string place) {
    if (std::ranges::find(found_.places, place) != found_.places.end())
      return false;
    found_.places.push_back(std::move(place));
    return true;
  }

  void add_root(const fs::path& root) {
    const fs::path include = root / "include";
    // NVRTC is not the compiler that the system's headers are written for.
    if (std::ranges::find(kSystemFolders, include.string()) !=
        kSystemFolders.end())
      return;
    add_place(include.string());
    add_include(include);
    add_include(root / kTarget / "include");
  }

  void add_include(const fs::path& include) {
    std::error_code error;
    const fs::path real = fs::canonical(include, error);
    if (error || std::ranges::find(seen_, real) != seen_.end()) return;
    seen_.push_back(real);
    const int version = cuda_version(include);
    auto& dirs = version == 0 || version / 1000 == cuda_major_
                     ? found_.dirs
                     : found_.other_dirs;
    dirs.push_back(include.string());
    if (is_there(include / "cccl")) dirs.push_back((include / "cccl").string());
  }

  int cuda_major_;
  std::vector<fs::path> seen_;
  HeaderSearch found_;
};

/// Returns the first of `dirs` that has `header`, or an empty text.
std::string folder_of(const std::vector<std::string>& dirs,
                      std::string_view header) {
  const auto it = std::ranges::find_if(
      dirs, [&](const fs::path& dir) { return is_there(dir / header); });
  return it == dirs.end() ? "" : *it;
}

bool is_complete(const std::vector<std::string>& dirs) {
  constexpr std::array<std::string_view, 3> kParts{"cuda_fp16.h", "crt/mma.h",
                                                   "cuda/std/version"};
  return std::ranges::all_of(kParts, [&](std::string_view part) {
    return !folder_of(dirs, part).empty();
  });
}

// Adds the folders of headers that include their neighbours by plain name.
// gpuos forbids NVRTC to search the folder of the including file. Otherwise
// NVRTC would search the current folder too.
void add_folders_of_neighbours(std::vector<std::string>& dirs) {
  for (const char* folder :
       {"cooperative_groups/details", "cooperative_groups", "crt"}) {
    const std::string parent = folder_of(dirs, folder);
    if (!parent.empty()) dirs.push_back(concat(parent, "/", folder));
  }
}

// Explains headers that are for another CUDA than NVRTC's. gpuos takes them if
// there are no others, and some of them work.
std::string misfit_hint(const std::string& file, const Nvrtc& api) {
  if (file.empty()) return "";
  for (const std::string& dir : search_cuda_headers(api).other_dirs) {
    if (!file.starts_with(dir + "/")) continue;
    return concat("the headers in ", dir, " are of CUDA ",
                  find_cuda_headers({dir}).version, ", NVRTC is ", api.major,
                  ".", api.minor, "; install those that fit with: ",
                  install_all_headers(api.major));
  }
  return "";
}

}  // namespace

HeaderSearch search_cuda_headers(const Nvrtc& api) {
  Search search(api.major);
  search.look_beside(fs::path(api.path).parent_path().string());
  for (const std::string& folder : library_folders())
    search.look_beside(folder);
  search.look_beside(kToolkitFolder);
  return search.take();
}

BundledHeaders find_bundled_headers(const Nvrtc& api) {
  BundledHeaders headers;
  nvrtcBundledHeadersInfo info{};
  if (api.nvrtcGetBundledHeadersInfo == nullptr ||
      api.nvrtcInstallBundledHeaders == nullptr ||
      api.nvrtcGetBundledHeadersInfo(&info, nullptr) != NVRTC_SUCCESS ||
      info.available == 0)
    return headers;
  headers.is_available = true;
  headers.version = concat(info.major, ".", info.minor);
  const CacheSettings settings = cache_settings(config());
  if (settings.folder.empty()) {
    headers.problem = settings.why_off;
    return headers;
  }
  headers.folder = concat(settings.folder, "/headers-", headers.version);
  // NVRTC writes this file after all the others.
  std::error_code ignored;
  headers.is_unpacked = std::filesystem::exists(
      headers.folder + "/.nvrtc_headers_version", ignored);
  return headers;
}

BundledHeaders unpack_bundled_headers(const Nvrtc& api) {
  BundledHeaders headers = find_bundled_headers(api);
  if (!headers.is_available || headers.folder.empty()) return headers;
  // Headers of this folder become code of this process, so the folder must be
  // trusted.
  const CacheFolder folder = open_folder(headers.folder, FolderUse::ReadWrite);
  headers.is_unpacked = false;
  if (!folder) {
    headers.problem = folder.problem;
    return headers;
  }
  const char* error = nullptr;
  const nvrtcResult result =
      api.nvrtcInstallBundledHeaders(headers.folder.c_str(), 0, &error);
  headers.is_unpacked = result == NVRTC_SUCCESS;
  if (!headers.is_unpacked)
    headers.problem =
        concat(headers.folder, ": ",
               error != nullptr ? error : api.nvrtcGetErrorString(result));
  return headers;
}

std::vector<std::string> cuda_include_dirs(const Nvrtc& api) {
  HeaderSearch search = search_cuda_headers(api);
  std::vector<std::string> dirs = std::move(search.dirs);
  if (!is_complete(dirs)) {
    const BundledHeaders bundled = unpack_bundled_headers(api);
    if (bundled.is_unpacked) {
      dirs.push_back(bundled.folder);
      dirs.push_back(bundled.folder + "/cccl");
    }
  }
  dirs.insert(dirs.end(), search.other_dirs.begin(), search.other_dirs.end());
  add_folders_of_neighbours(dirs);
  return dirs;
}

const std::string_view kCubHeader = R"(#pragma once
#include <cub/block/block_adjacent_difference.cuh>
#include <cub/block/block_discontinuity.cuh>
#include <cub/block/block_exchange.cuh>
#include <cub/block/block_histogram.cuh>
#include <cub/block/block_load.cuh>
#include <cub/block/block_merge_sort.cuh>
#include <cub/block/block_radix_rank.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_run_length_decode.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_shuffle.cuh>
#include <cub/block/block_store.cuh>
#include <cub/thread/thread_load.cuh>
#include <cub/thread/thread_operators.cuh>
#include <cub/thread/thread_reduce.cuh>
#include <cub/thread/thread_scan.cuh>
#include <cub/thread/thread_store.cuh>
#include <cub/util_ptx.cuh>
#include <cub/util_type.cuh>
#include <cub/warp/warp_exchange.cuh>
#include <cub/warp/warp_load.cuh>
#include <cub/warp/warp_merge_sort.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_scan.cuh>
#include <cub/warp/warp_store.cuh>
)";

void add_cuda_headers(const Nvrtc& api, std::vector<std::string>& include_dirs,
                      std::vector<JitHeader>& headers) {
  for (std::string& folder : cuda_include_dirs(api))
    include_dirs.push_back(std::move(folder));
  headers.push_back({"cub/cub.cuh", std::string(kCubHeader)});
  // NVRTC has no files of these names, and it already knows the parts that
  // kernels need.
  for (const char* name :
       {"cuda_runtime.h", "cuda_runtime_api.h", "device_launch_parameters.h"}) {
    if (folder_of(include_dirs, name).empty()) headers.push_back({name, ""});
  }
}

std::string identity_of(std::span<const std::string> dirs) {
  std::string identity;
  for (const std::string& dir : dirs) {
    identity += concat(dir, "\n");
    for (const char* name : {"cuda_runtime_api.h", "cuda.h", "cuda_fp16.h",
                             "cuda/std/__cccl/version.h"}) {
      const fs::path file = fs::path(dir) / name;
      std::error_code error;
      const auto written = fs::last_write_time(file, error);
      if (error) continue;
      identity += concat(name, " ", written.time_since_epoch().count(), " ",
                         read_define(file, "CUDART_VERSION"), " ",
                         read_define(file, "CCCL_VERSION"), "\n");
    }
  }
  return identity;
}

std::string header_hint(std::string_view missing_header, const Nvrtc& api) {
  std::string hint = package_hint(missing_header, api.major);
  if (hint.empty()) return standard_hint(missing_header);
  hint += concat("; it was looked for in ",
                 join_places(search_cuda_headers(api).places));
  const BundledHeaders bundled = find_bundled_headers(api);
  if (bundled.is_available && !bundled.problem.empty())
    hint += concat("; NVRTC's own copy cannot be unpacked: ", bundled.problem);
  return hint;
}

FoundHeader find_cuda_headers(const std::vector<std::string>& dirs) {
  FoundHeader found{folder_of(dirs, "cuda_fp16.h"), ""};
  if (const int version = cuda_version(found.folder); version != 0)
    found.version = concat(version / 1000, ".", version % 1000 / 10);
  return found;
}

FoundHeader find_cccl_headers(const std::vector<std::string>& dirs) {
  FoundHeader found{folder_of(dirs, "cuda/std/version"), ""};
  const int version = read_define(
      fs::path(found.folder) / "cuda/std/__cccl/version.h", "CCCL_VERSION");
  if (version != 0)
    found.version = concat(version / 1'000'000, ".", version / 1000 % 1000, ".",
                           version % 1000);
  return found;
}

void throw_with_header_hint(const CompileError& error, const Nvrtc& api) {
  std::string hint = header_hint(missing_header(error.what()), api);
  if (hint.empty()) hint = misfit_hint(error.place().file, api);
  if (!hint.empty())
    throw CompileError(concat(error.what(), "\n", hint), error.log(),
                       error.place());
}

}  // namespace gpuos::jit
