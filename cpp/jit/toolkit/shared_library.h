#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gpuos::jit {

/// Holds a library that is open until the process ends.
struct SharedLibrary {
  void* handle = nullptr;
  std::string path;
  std::string file;  // describe_file(path) when it was opened
};

/// Holds the results of a search.
struct LibrarySearch {
  std::vector<std::string> candidates;  // for dlopen(), best first
  std::vector<std::string> places;      // looked at, for messages
};

/// Searches for lib`stem`.so without opening it. The order is:
/// GPUOS_CUDA_LIBRARY_PATH, loaded libraries, the folders of add_library_dir(),
/// the active virtual or conda environment. CUDA_HOME, CUDA_PATH and the system
/// follow.
LibrarySearch search_library(std::string_view stem);

/// Returns the folders among those places, except the system's.
std::vector<std::string> library_folders();

/// Names the last place: the folder of a toolkit without an explicit choice.
inline constexpr const char* kToolkitFolder = "/usr/local/cuda/lib64";

/// Returns the sub-folders of `dir` in a stable order. Returns none if there is
/// no such folder.
std::vector<std::string> folders_in(const std::string& dir);

/// Returns a null handle if `candidate` cannot be opened.
SharedLibrary open_library(const std::string& candidate) noexcept;

/// Returns path, bytes and time of change, which tell one build of a library
/// from another. The time is in whole seconds, because archives and images keep
/// no more.
std::string describe_file(const std::string& path);

/// Returns null if the library has no such symbol.
void* find_symbol(const SharedLibrary& library, const char* name) noexcept;

/// Returns "a, b and c", for messages.
std::string join_places(const std::vector<std::string>& places);

/// Returns the files in `dir` whose name begins with `prefix`, newest version
/// first.
std::vector<std::string> files_like(const std::string& dir,
                                    std::string_view prefix);

}  // namespace gpuos::jit
