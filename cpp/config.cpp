#include "config.h"

#include <algorithm>
#include <cstdio>
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

void append_log(std::string_view text) noexcept {
  if (config().log.empty()) return;
  if (std::FILE* file = std::fopen(config().log.c_str(), "a")) {
    std::fwrite(text.data(), 1, text.size(), file);
    std::fclose(file);
  }
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
