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

std::optional<std::string> variable_if_set(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) return std::nullopt;
  return value;
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
                 .log = variable("GPUOS_LOG"),
                 .cache_dir = variable_if_set("GPUOS_CACHE_DIR"),
                 .cache_readonly_dir = variable("GPUOS_CACHE_READONLY_DIR"),
                 .cache_max_mb = variable("GPUOS_CACHE_MAX_MB"),
                 .xdg_cache_home = variable("XDG_CACHE_HOME"),
                 .home = variable("HOME")};
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
