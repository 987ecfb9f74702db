#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpuos/error.h"
#include "gpuos/jit_options.h"
#include "jit/nvrtc_api.h"

namespace gpuos::jit {

/// Folders with headers of CUDA and CCCL on this machine.
struct HeaderSearch {
  std::vector<std::string> dirs;        // best first
  std::vector<std::string> other_dirs;  // of another major version than NVRTC
  std::vector<std::string> places;      // looked at, for messages
};

/// Looks beside NVRTC's library, then beside each of library_folders(): the
/// wheels (nvidia/cu13/include, nvidia/cuda_runtime/include and so on), conda,
/// CUDA_HOME, CUDA_PATH, /usr/local/cuda. For each both `include` and
/// `include/cccl`, where they exist.
HeaderSearch search_cuda_headers(const Nvrtc& api);

/// The headers of CUDA and CCCL that NVRTC carries in itself, from 13.3 on.
struct BundledHeaders {
  bool is_available = false;
  std::string version;  // "13.5"
  std::string folder;   // where they are unpacked, in the disk cache's folder
  bool is_unpacked = false;
  std::string problem;  // why they cannot be unpacked
};

/// Looks only.
BundledHeaders find_bundled_headers(const Nvrtc& api);

/// Unpacks them where that was not done yet: 0.1 to 0.3 s and 25 MB once. A
/// failure is told in `problem`.
/// Threads: any; processes that do it at the same time wait for each other.
BundledHeaders unpack_bundled_headers(const Nvrtc& api);

/// For --include-path, after the user's own: the folders found and, where they
/// lack something, the headers that NVRTC carries in itself, which are unpacked
/// at the first use. Some hundred calls of stat(): ask only for a source that
/// includes more than the embedded headers.
/// Threads: any.
std::vector<std::string> cuda_include_dirs(const Nvrtc& api);

/// NVRTC reads this for <cub/cub.cuh>. CCCL's own header includes the
/// algorithms of the whole device. Those are functions of the host, and NVRTC
/// refuses them. This includes all others.
extern const std::string_view kCubHeader;

/// Adds folders for a source that includes more than the embedded headers, and
/// texts in place of headers that NVRTC refuses or does not need. A header of
/// the user with the same name is found first.
void add_cuda_headers(const Nvrtc& api, std::vector<std::string>& include_dirs,
                      std::vector<JitHeader>& headers);

/// Changes when the headers in `dirs`, which are CUDA's and CCCL's, become
/// others: by their versions and dates, since they are a thousand files.
std::string identity_of(std::span<const std::string> dirs);

/// To follow 'cannot open source file "x"': which package brings the header,
/// the command that installs it, and where it was looked for. Empty if it is
/// not CUDA's, CCCL's or the standard library's.
std::string header_hint(std::string_view missing_header, const Nvrtc& api);

/// `error` once more with the hint, or with what is wrong about the headers of
/// another CUDA in which it is; returns if there is none.
void throw_with_header_hint(const CompileError& error, const Nvrtc& api);

/// A header that tells of the others beside it.
struct FoundHeader {
  std::string folder;   // empty: not found
  std::string version;  // empty if unknown
};
FoundHeader find_cuda_headers(const std::vector<std::string>& dirs);
FoundHeader find_cccl_headers(const std::vector<std::string>& dirs);

}  // namespace gpuos::jit
