#include "jit/cache_listing.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <memory>
#include <string_view>

#include "jit/cache_folder.h"

namespace gpuos::jit {
namespace {

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
