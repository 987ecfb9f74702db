#include "base/config.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "gpuos/diagnose.h"

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

struct Noted {
  std::mutex mutex;
  std::shared_ptr<const Environment> environment;
};

Noted& noted() {
  static Noted* const instance = new Noted;  // outlives every other static
  return *instance;
}

}  // namespace

const Config& config() {
  static const Config* const instance =
      new Config{.backend = variable("GPUOS_BACKEND"),
                 .nvrtc_arch = variable("GPUOS_NVRTC_ARCH"),
                 .cuda_library_path = variable("GPUOS_CUDA_LIBRARY_PATH"),
                 .log = variable("GPUOS_LOG"),
                 .checked = variable("GPUOS_CHECKED"),
                 .workers = variable("GPUOS_WORKERS"),
                 .omp_num_threads = variable("OMP_NUM_THREADS"),
                 .local_world_size = variable("LOCAL_WORLD_SIZE"),
                 .cache_dir = variable_if_set("GPUOS_CACHE_DIR"),
                 .cache_readonly_dir = variable("GPUOS_CACHE_READONLY_DIR"),
                 .cache_max_mb = variable("GPUOS_CACHE_MAX_MB"),
                 .xdg_cache_home = variable("XDG_CACHE_HOME"),
                 .home = variable("HOME")};
  return *instance;
}

void append_log(std::string_view text) noexcept {
  if (config().log.empty()) return;
  // A FIFO or terminal may have no reader, and must not block this thread.
  const int file = ::open(
      config().log.c_str(),
      O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0666);
  if (file < 0) return;
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written > 0)
      text.remove_prefix(static_cast<std::size_t>(written));
    else if (errno != EINTR)
      break;
  }
  ::close(file);
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

void note_environment() {
  auto read = std::make_shared<Environment>();
  for (char** variable = environ; *variable != nullptr; ++variable)
    read->emplace_back(*variable);
  const std::lock_guard lock(noted().mutex);
  noted().environment = std::move(read);
}

std::shared_ptr<const Environment> environment() {
  {
    const std::lock_guard lock(noted().mutex);
    if (noted().environment != nullptr) return noted().environment;
  }
  note_environment();
  return environment();
}

std::string_view variable_of(const Environment& environment,
                             std::string_view name) {
  for (const std::string_view variable : environment) {
    if (variable.size() > name.size() && variable[name.size()] == '=' &&
        variable.starts_with(name))
      return variable.substr(name.size() + 1);
  }
  return {};
}

}  // namespace gpuos
