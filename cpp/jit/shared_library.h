#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gpuos::jit {

/// A library that is open until the process ends.
struct SharedLibrary {
  void* handle = nullptr;
  std::string path;
  std::string file;  // describe_file(path) when it was opened
};

/// The results of a search.
struct LibrarySearch {
  std::vector<std::string> candidates;  // for dlopen(), best first
  std::vector<std::string> places;      // looked at, for messages
};

/// Where lib`stem`.so may be: the folders of GPUOS_CUDA_LIBRARY_PATH, what the
/// process has loaded, the folders of add_library_dir(), the active virtual or
/// conda environment, CUDA_HOME and CUDA_PATH, the system. Opens nothing.
LibrarySearch search_library(std::string_view stem);

/// The folders among those places, but for the system's.
std::vector<std::string> library_folders();

/// The last place: where a toolkit is unless it was told to be elsewhere.
inline constexpr const char* kToolkitFolder = "/usr/local/cuda/lib64";

/// Sub-folders of `dir` in a stable order; none if there is no such folder.
std::vector<std::string> folders_in(const std::string& dir);

/// A null handle if `candidate` cannot be opened.
SharedLibrary open_library(const std::string& candidate) noexcept;

/// Path, bytes and time of change: what tells one build of a library from
/// another. In whole seconds, which is what archives and images keep.
std::string describe_file(const std::string& path);

/// Null if the library has no such symbol.
void* find_symbol(const SharedLibrary& library, const char* name) noexcept;

/// "a, b and c", for messages.
std::string join_places(const std::vector<std::string>& places);

/// Files in `dir` whose name begins with `prefix`, newest version first.
std::vector<std::string> files_like(const std::string& dir,
                                    std::string_view prefix);

}  // namespace gpuos::jit
