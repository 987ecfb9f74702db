#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpuos/error.h"
#include "gpuos/jit_options.h"
#include "jit/toolkit/nvrtc_api.h"

namespace gpuos::jit {

/// Lists folders with headers of CUDA and CCCL on this machine.
struct HeaderSearch {
  std::vector<std::string> dirs;        // best first
  std::vector<std::string> other_dirs;  // for another major version than
                                        // NVRTC's
  std::vector<std::string> places;      // looked at, for messages
};

/// Searches near NVRTC's library, then near each of library_folders(). Those
/// are the wheels (nvidia/cu13/include, nvidia/cuda_runtime/include and so on),
/// conda, CUDA_HOME, CUDA_PATH and /usr/local/cuda. Each adds both `include`
/// and `include/cccl`, where they exist.
HeaderSearch search_cuda_headers(const Nvrtc& api);

/// Describes the headers of CUDA and CCCL that NVRTC itself contains, from 13.3
/// on.
struct BundledHeaders {
  bool is_available = false;
  std::string version;  // "13.5"
  std::string folder;   // where they are unpacked, in the disk cache's folder
  bool is_unpacked = false;
  std::string problem;  // the reason if they cannot be unpacked
};

/// Finds them without unpacking them.
BundledHeaders find_bundled_headers(const Nvrtc& api);

/// Unpacks them if that was not done yet. This takes 0.1 to 0.3 s and 25 MB
/// once. `problem` tells of a failure.
/// Threads: any. Processes that do it at the same time wait for each other.
BundledHeaders unpack_bundled_headers(const Nvrtc& api);

/// Returns folders for --include-path, which come after the user's own. They
/// are the folders found and, where these lack something, NVRTC's own headers.
/// The first use unpacks those. The search makes some hundred calls of stat().
/// Call it only for a source that includes more than the embedded headers.
/// Threads: any.
std::vector<std::string> cuda_include_dirs(const Nvrtc& api);

/// Replaces <cub/cub.cuh> for NVRTC. CCCL's own header includes the algorithms
/// of the whole device. Those are functions of the host, and NVRTC refuses
/// them. This header includes all others.
extern const std::string_view kCubHeader;

/// Adds folders for a source that includes more than the embedded headers. Adds
/// texts in place of headers that NVRTC refuses or does not need. A header of
/// the user with an equal name is found first.
void add_cuda_headers(const Nvrtc& api, std::vector<std::string>& include_dirs,
                      std::vector<JitHeader>& headers);

/// Returns a text that changes when the headers of CUDA and CCCL in `dirs`
/// change. It uses their versions and dates, because there are a thousand
/// files.
std::string identity_of(std::span<const std::string> dirs);

/// Returns a text to follow 'cannot open source file "x"'. It names the package
/// of the header, the command that installs it, and the searched folders.
/// Returns an empty text for other headers than those of CUDA, CCCL and the
/// standard library.
std::string header_hint(std::string_view missing_header, const Nvrtc& api);

/// Throws `error` again with the hint. An error in headers of another CUDA gets
/// a hint about these headers. Returns if there is no hint.
void throw_with_header_hint(const CompileError& error, const Nvrtc& api);

/// Describes a header that stands for others in its folder.
struct FoundHeader {
  std::string folder;   // empty: not found
  std::string version;  // empty if unknown
};
FoundHeader find_cuda_headers(const std::vector<std::string>& dirs);
FoundHeader find_cccl_headers(const std::vector<std::string>& dirs);

}  // namespace gpuos::jit
