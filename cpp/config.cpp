#include "config.h"

#include <algorithm>
#include <cstdlib>
#include <mutex>

namespace gpuos {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

struct Dirs {
  std::mutex mutex;
  std::vector<std::string> paths;
};

Dirs& dirs() {
  static Dirs* const instance = new Dirs;
  return *instance;
}

}  // namespace

const Config& config() {
  static const Config* const instance =
      new Config{.backend = variable("GPUOS_BACKEND"),
                 .nvrtc_arch = variable("GPUOS_NVRTC_ARCH"),
                 .cache_dir = variable("GPUOS_CACHE_DIR"),
                 .log = variable("GPUOS_LOG")};
  return *instance;
}

void add_library_dir(std::string path) {
  Dirs& all = dirs();
  const std::lock_guard lock(all.mutex);
  if (path.empty() || std::ranges::find(all.paths, path) != all.paths.end())
    return;
  all.paths.push_back(std::move(path));
}

std::vector<std::string> library_dirs() {
  Dirs& all = dirs();
  const std::lock_guard lock(all.mutex);
  return all.paths;
}

}  // namespace gpuos
