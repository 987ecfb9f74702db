#include "jit/cache/cache_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <memory>
#include <string_view>
#include <thread>

#include "base/concat.h"
#include "gpuos/interrupt.h"

namespace gpuos::jit {
namespace {

// Makes folders like `mkdir -p -m 700`. Returns 0, or errno for the folder that
// cannot be made.
int make_folders(const std::string& path) {
  for (std::size_t end = path.find('/', 1); end != std::string::npos;
       end = path.find('/', end + 1))
    ::mkdir(path.substr(0, end).c_str(), 0700);
  return ::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST ? 0 : errno;
}

FileHandle open_path(const std::string& path) {
  return FileHandle(
      ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

std::string open_problem(const std::string& path, int error) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) == 0 && S_ISLNK(status.st_mode))
    return concat(path, ": expected a folder, got a symbolic link");
  return concat(path, ": ", std::strerror(error));
}

constexpr std::int64_t kTouchSeconds = 60;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 30;

bool read_all(const FileHandle& file, std::string& bytes) {
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t got =
        ::read(file.get(), bytes.data() + at, bytes.size() - at);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += static_cast<std::size_t>(got);
  }
  return true;
}

bool write_all(const FileHandle& file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(file.get(), bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

/// Blocks a signal: a write over RLIMIT_FSIZE fails with EFBIG instead of
/// ending the process.
class WithoutSizeSignal {
 public:
  WithoutSizeSignal() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &signals_, &before_);
  }
  WithoutSizeSignal(const WithoutSizeSignal&) = delete;
  WithoutSizeSignal& operator=(const WithoutSizeSignal&) = delete;
  ~WithoutSizeSignal() {
    if (sigismember(&before_, SIGXFSZ) == 0) {
      const timespec no_time{};
      while (sigtimedwait(&signals_, nullptr, &no_time) == SIGXFSZ) {
      }
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t signals_{};
  sigset_t before_{};
};

// Returns a name that no other process uses. Where that fails, on a shared
// disk, nothing is written.
std::string part_name() {
  static std::atomic<std::uint64_t> count = 0;
  return concat(kPartPrefix, ::getpid(), "-", count.fetch_add(1), "-",
                std::chrono::system_clock::now().time_since_epoch().count());
}

bool write_and_flush(const FileHandle& file, std::string_view bytes) {
  const WithoutSizeSignal quiet;
  return write_all(file, bytes) && ::fsync(file.get()) == 0;
}

// Renames `part`. This replaces everything that has the name, except a folder
// that is not empty.
bool give_name(int dir, const std::string& part, const std::string& name) {
  const auto rename = [&] {
    return ::renameat(dir, part.c_str(), dir, name.c_str()) == 0;
  };
  return rename() ||
         (::unlinkat(dir, name.c_str(), AT_REMOVEDIR) == 0 && rename());
}

// This limit counts where files cannot be locked. It is longer than any
// compiler and any slow disk takes.
constexpr std::int64_t kLeftoverSeconds = 3600;
constexpr std::int64_t kSecond = 1'000'000'000;

constexpr std::size_t kHashDigits = 64;

bool is_hash(std::string_view text) {
  return text.size() == kHashDigits &&
         text.find_first_not_of("0123456789abcdef") == text.npos;
}

bool has_form(std::string_view name, std::string_view suffix) {
  return name.ends_with(suffix) &&
         is_hash(name.substr(0, name.size() - suffix.size()));
}

struct CloseDir {
  void operator()(DIR* dir) const { ::closedir(dir); }
};

// Removes a leftover. A process that writes or holds such a file has locked it.
// The process can work without the file.
void remove_leftover(const CacheFolder& folder, const CacheFile& file,
                     CacheRemoval& removal) {
  const FileHandle handle(
      ::openat(folder.handle.get(), file.name.c_str(),
               O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!handle.is_open()) return;
  const bool is_locked = ::flock(handle.get(), LOCK_EX | LOCK_NB) == 0;
  if (!is_locked && errno == EWOULDBLOCK) return;
  const bool is_old =
      std::time(nullptr) - file.used_ns / kSecond > kLeftoverSeconds;
  if (is_locked || is_old) remove_cached(folder, file, removal);
}

}  // namespace

std::string distrust(const FileHandle& file, FolderUse use) {
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) return std::strerror(errno);
  const bool is_ours = status.st_uid == ::geteuid() ||
                       (use == FolderUse::ReadOnly && status.st_uid == 0);
  if (!is_ours)
    return concat("expected user ", ::geteuid(), " as the owner, got user ",
                  status.st_uid);
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return concat("group or others may write to it (mode ", std::oct,
                  status.st_mode & 07777, "); run: chmod go-w");
  return "";
}

bool can_write(const CacheFolder& folder) {
  return ::faccessat(folder.handle.get(), ".", W_OK | X_OK, AT_EACCESS) == 0;
}

CacheFolder open_folder(const std::string& path, FolderUse use) {
  CacheFolder folder;
  folder.handle = open_path(path);
  if (!folder && errno == ENOENT && use == FolderUse::ReadWrite) {
    if (const int error = make_folders(path)) {
      folder.problem = concat(path, ": cannot make it: ", std::strerror(error));
      return folder;
    }
    folder.handle = open_path(path);
  }
  if (!folder) {
    folder.problem = open_problem(path, errno);
    return folder;
  }
  if (std::string problem = distrust(folder.handle, use); !problem.empty()) {
    folder.handle.close();
    folder.problem = concat(path, ": ", problem);
  }
  return folder;
}

std::optional<std::string> read_cached(const CacheFolder& folder,
                                       const std::string& name, FolderUse use,
                                       bool touch) {
  // The open does not block, because the file may be a pipe.
  const FileHandle file(
      ::openat(folder.handle.get(), name.c_str(),
               O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status{};
  if (!file.is_open() || ::fstat(file.get(), &status) != 0 ||
      !S_ISREG(status.st_mode) || status.st_size > kMostBytes ||
      !distrust(file, use).empty())
    return std::nullopt;
  std::string bytes(static_cast<std::size_t>(status.st_size), '\0');
  if (!read_all(file, bytes)) return std::nullopt;
  if (touch && std::time(nullptr) - status.st_mtime > kTouchSeconds)
    ::futimens(file.get(), nullptr);
  return bytes;
}

bool write_cached(const CacheFolder& folder, const std::string& name,
                  std::string_view bytes) {
  const std::string part = part_name();
  const int dir = folder.handle.get();
  const FileHandle file(
      ::openat(dir, part.c_str(),
               O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.is_open()) return false;
  // The lock lasts until the file has its name. A process that tidies up
  // removes files that nothing has locked.
  ::flock(file.get(), LOCK_EX | LOCK_NB);
  if (!write_and_flush(file, bytes) || !give_name(dir, part, name)) {
    ::unlinkat(dir, part.c_str(), 0);
    return false;
  }
  // Without fsync(), a crash of the machine may undo the rename, but nothing
  // else.
  ::fsync(dir);
  return true;
}

FileLock::FileLock(const CacheFolder& folder, std::string name,
                   std::chrono::steady_clock::time_point deadline)
    : folder_(folder), name_(std::move(name)) {
  auto pause = std::chrono::microseconds(500);
  bool is_hopeless = false;
  while (!try_once(is_hopeless) && !is_hopeless) {
    const auto now = std::chrono::steady_clock::now();
    if (now >= deadline) return;
    Interrupt::check("compile");
    std::this_thread::sleep_for(
        std::min<std::chrono::nanoseconds>(pause, deadline - now));
    pause = std::min(pause * 2, std::chrono::microseconds(8000));
  }
}

FileLock::~FileLock() {
  if (!is_held()) return;
  ::unlinkat(folder_.handle.get(), name_.c_str(), 0);
  // Closing alone does not unlock: a child that was forked meanwhile also has
  // the file open.
  ::flock(file_.get(), LOCK_UN);
}

bool FileLock::try_once(bool& is_hopeless) {
  const int dir = folder_.handle.get();
  FileHandle file(::openat(dir, name_.c_str(),
                           O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.is_open()) {
    is_hopeless = true;
    return false;
  }
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    is_hopeless = errno != EWOULDBLOCK && errno != EINTR;
    return false;
  }
  // The last holder has removed the file, so this lock excludes no other
  // process.
  struct stat mine{};
  struct stat named{};
  if (::fstat(file.get(), &mine) != 0 ||
      ::fstatat(dir, name_.c_str(), &named, AT_SYMLINK_NOFOLLOW) != 0 ||
      mine.st_ino != named.st_ino || mine.st_dev != named.st_dev)
    return false;
  file_ = std::move(file);
  return true;
}

CacheListing list_folder(const CacheFolder& folder) {
  CacheListing listing;
  // The listing opens its own description, because reading moves the position.
  const int fd =
      ::openat(folder.handle.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, CloseDir> dir(fd < 0 ? nullptr : ::fdopendir(fd));
  if (dir == nullptr) {
    if (fd >= 0) ::close(fd);
    return listing;
  }
  while (const dirent* item = ::readdir(dir.get())) {
    const std::string name = item->d_name;
    const bool is_entry = has_form(name, kEntrySuffix);
    if (!is_entry && !has_form(name, kLockSuffix) &&
        !name.starts_with(kPartPrefix))
      continue;
    struct stat status{};
    if (::fstatat(fd, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 ||
        S_ISDIR(status.st_mode))
      continue;
    const CacheFile file{
        .name = name,
        .bytes = static_cast<std::uint64_t>(status.st_size),
        .used_ns = status.st_mtim.tv_sec * kSecond + status.st_mtim.tv_nsec};
    if (is_entry) listing.bytes += file.bytes;
    (is_entry ? listing.entries : listing.leftovers).push_back(file);
  }
  std::ranges::sort(listing.entries, {}, &CacheFile::used_ns);
  return listing;
}

CacheRemoval evict(const CacheFolder& folder, const CacheListing& listing,
                   std::uint64_t most_bytes) {
  CacheRemoval removal;
  for (const CacheFile& file : listing.leftovers)
    remove_leftover(folder, file, removal);
  std::uint64_t left = listing.bytes;
  for (const CacheFile& file : listing.entries) {
    if (left <= most_bytes) break;
    remove_cached(folder, file, removal);
    left -= file.bytes;
  }
  return removal;
}

void remove_cached(const CacheFolder& folder, const CacheFile& file,
                   CacheRemoval& removal) {
  if (::unlinkat(folder.handle.get(), file.name.c_str(), 0) != 0) return;
  ++removal.files;
  removal.bytes += file.bytes;
}

}  // namespace gpuos::jit
