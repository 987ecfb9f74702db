#include "jit/toolkit/shared_library.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/c_text.h"
#include "base/concat.h"
#include "base/config.h"

namespace gpuos::jit {
namespace {

namespace fs = std::filesystem;

void add_unique(std::vector<std::string>& list, std::string text) {
  if (std::ranges::find(list, text) == list.end())
    list.push_back(std::move(text));
}

struct LoadedScan {
  std::string_view prefix;  // "libnvrtc.so"
  std::vector<std::string> paths;
};

int visit_loaded(dl_phdr_info* info, std::size_t, void* data) {
  auto& scan = *static_cast<LoadedScan*>(data);
  const std::string_view path = info->dlpi_name;
  const std::string_view file = path.substr(path.rfind('/') + 1);
  if (file.starts_with(scan.prefix)) scan.paths.emplace_back(path);
  return 0;
}

const char* variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr || *value == '\0' ? nullptr : value;
}

// Returns the folders of GPUOS_CUDA_LIBRARY_PATH.
std::vector<std::string> named_dirs() {
  std::vector<std::string> dirs;
  for (std::string_view rest = config().cuda_library_path; !rest.empty();) {
    const std::string_view dir = cut_until(rest, ':');
    if (!dir.empty()) dirs.emplace_back(dir);
  }
  return dirs;
}

// Adds nvidia/cu13/lib, which newer wheels of one CUDA share. Then adds
// nvidia/cuda_nvrtc/lib and so on, one for each wheel.
void add_wheels(std::vector<std::string>& dirs, const std::string& nvidia) {
  std::vector<std::string> wheels = folders_in(nvidia);
  std::ranges::reverse(wheels);
  std::ranges::stable_partition(wheels, [&](std::string_view wheel) {
    return wheel.substr(nvidia.size()).starts_with("/cu1");
  });
  for (const std::string& wheel : wheels) dirs.push_back(wheel + "/lib");
}

}  // namespace

std::vector<std::string> library_folders() {
  std::vector<std::string> dirs = named_dirs();
  for (std::string& dir : library_dirs()) {
    if (dir.ends_with("/nvidia")) add_wheels(dirs, dir);
    dirs.push_back(std::move(dir));
  }
  if (const char* root = variable("VIRTUAL_ENV")) {
    for (const std::string& python : folders_in(concat(root, "/lib")))
      add_wheels(dirs, python + "/site-packages/nvidia");
  }
  if (const char* root = variable("CONDA_PREFIX"))
    dirs.push_back(concat(root, "/lib"));
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"}) {
    const char* const root = variable(name);
    if (root == nullptr) continue;
    for (const char* folder : {"/lib64", "/lib"})
      dirs.push_back(concat(root, folder));
  }
  return dirs;
}

std::vector<std::string> folders_in(const std::string& dir) {
  std::vector<std::string> found;
  std::error_code ignored;
  for (fs::directory_iterator it(dir, ignored), end; it != end;
       it.increment(ignored)) {
    if (it->is_directory(ignored)) found.push_back(it->path().string());
  }
  std::ranges::sort(found);
  return found;
}

std::vector<std::string> files_like(const std::string& dir,
                                    std::string_view prefix) {
  std::vector<std::string> found;
  std::error_code ignored;
  for (fs::directory_iterator it(dir, ignored), end; it != end;
       it.increment(ignored)) {
    if (it->path().filename().string().starts_with(prefix))
      found.push_back(it->path().string());
  }
  // strverscmp() understands numbers: .so.13 comes before .so.9.
  std::ranges::sort(found, [](const std::string& a, const std::string& b) {
    return strverscmp(a.c_str(), b.c_str()) > 0;
  });
  return found;
}

LibrarySearch search_library(std::string_view stem) {
  const std::string file = concat("lib", stem, ".so");
  LibrarySearch search;
  const auto add_dir = [&](const std::string& dir) {
    add_unique(search.places, dir);
    for (std::string& path : files_like(dir, file))
      add_unique(search.candidates, std::move(path));
  };
  for (const std::string& dir : named_dirs()) add_dir(dir);
  LoadedScan loaded{.prefix = file, .paths = {}};
  dl_iterate_phdr(visit_loaded, &loaded);
  for (std::string& path : loaded.paths)
    add_unique(search.candidates, std::move(path));
  search.places.push_back("the process");

  for (const std::string& dir : library_folders()) add_dir(dir);
  // For names without a folder, the loader searches LD_LIBRARY_PATH and ld.so's
  // cache.
  search.places.push_back("the system's library path");
  for (const char* version : {".13", ".12", ""})
    search.candidates.push_back(file + version);
  add_dir(kToolkitFolder);
  return search;
}

SharedLibrary open_library(const std::string& candidate) noexcept {
  SharedLibrary library;
  library.handle = dlopen(candidate.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (library.handle == nullptr) return library;
  link_map* map = nullptr;
  if (dlinfo(library.handle, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr)
    library.path = map->l_name;
  if (library.path.empty()) library.path = candidate;
  library.file = describe_file(library.path);
  return library;
}

std::string describe_file(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return path;
  return concat(path, " ", status.st_size, " ", status.st_mtim.tv_sec);
}

void* find_symbol(const SharedLibrary& library, const char* name) noexcept {
  return dlsym(library.handle, name);
}

std::string join_places(const std::vector<std::string>& places) {
  std::string text;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (i > 0) text += i + 1 == places.size() ? " and " : ", ";
    text += places[i];
  }
  return text;
}

}  // namespace gpuos::jit
