#include "host/temp_folder.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <mutex>

#include "base/concat.h"
#include "base/config.h"
#include "gpuos/error.h"

namespace gpuos::host {
namespace {

/// Returns the folder of std::filesystem::temp_directory_path(), which reads
/// the environment.
std::filesystem::path parent_folder() {
  const auto variables = environment();
  for (const char* name : {"TMPDIR", "TMP", "TEMP", "TEMPDIR"}) {
    if (const auto value = variable_of(*variables, name); !value.empty())
      return value;
  }
  return "/tmp";
}

constexpr std::string_view kPrefix = "gpuos-work-";
constexpr std::string_view kRandom = "XXXXXX";
constexpr std::time_t kYoungSeconds = 60;

/// Takes the lock of the folder. Returns -1 if another process has it.
int take_lock(const std::string& folder) noexcept {
  const int file =
      ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0 || ::flock(file, LOCK_EX | LOCK_NB) == 0) return file;
  ::close(file);
  return -1;
}

bool is_named_as_ours(const std::string& name) noexcept {
  return name.size() == kPrefix.size() + kRandom.size() &&
         name.starts_with(kPrefix);
}
bool is_old_and_ours(const std::string& folder) noexcept {
  struct stat status{};
  return ::lstat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
         status.st_uid == ::geteuid() && (status.st_mode & 0777) == 0700 &&
         status.st_mtime + kYoungSeconds < std::time(nullptr);
}

}  // namespace

std::size_t remove_left_folders(const std::string& parent) noexcept {
  std::size_t removed = 0;
  try {
    std::error_code ignored;
    std::filesystem::directory_iterator entry(parent, ignored), end;
    for (; entry != end; entry.increment(ignored)) {
      const std::string path = entry->path().string();
      if (!is_named_as_ours(entry->path().filename().string()) ||
          !is_old_and_ours(path))
        continue;
      const int lock = take_lock(path);
      if (lock < 0) continue;
      std::filesystem::remove_all(path, ignored);
      ::close(lock);
      ++removed;
    }
  } catch (const std::exception&) {
    return removed;  // no memory: the next call removes them
  }
  return removed;
}

TempFolder::TempFolder() {
  const std::filesystem::path parent = parent_folder();
  static std::once_flag looked;
  std::call_once(looked, remove_left_folders, parent.string());
  path_ = (parent / concat(kPrefix, kRandom)).string();
  if (::mkdtemp(path_.data()) == nullptr) {
    throw Error(concat("host compiler: cannot make a folder in ",
                       parent.string(), ": ", std::strerror(errno),
                       "; set TMPDIR"));
  }
  lock_ = take_lock(path_);
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
  if (lock_ >= 0) ::close(lock_);
}

std::string TempFolder::file(std::string_view name) const {
  return concat(path_, "/", name);
}

void write_file(const std::string& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  if (!file) {
    throw Error(concat("host compiler: cannot write ", text.size(),
                       " bytes to ", path, "; set TMPDIR"));
  }
}

std::optional<std::size_t> regular_file_bytes(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode) ||
      ::access(path.c_str(), R_OK) != 0)
    return std::nullopt;
  return static_cast<std::size_t>(status.st_size);
}

// Opening a FIFO would wait for its writer.
std::string read_file(const std::string& path, std::size_t limit) {
  const auto size = regular_file_bytes(path);
  std::ifstream file;
  if (size) file.open(path, std::ios::binary);
  if (!file.is_open()) throw Error(concat("host compiler: cannot read ", path));
  std::string text(std::min(*size, limit), '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

}  // namespace gpuos::host
