#pragma once

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gpuos/cache.h"

namespace gpuos::jit {

/// Owns a file descriptor.
class FileHandle {
 public:
  explicit FileHandle(int fd = -1) noexcept : fd_(fd) {}
  FileHandle(FileHandle&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileHandle& operator=(FileHandle&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileHandle() { close(); }

  bool is_open() const noexcept { return fd_ >= 0; }
  int get() const noexcept { return fd_; }
  bool close() noexcept {
    return fd_ < 0 || ::close(std::exchange(fd_, -1)) == 0;
  }

 private:
  int fd_;
};

enum class FolderUse {
  ReadWrite,  // made if it is missing, and only this user may write to it
  ReadOnly    // root may own it too
};

/// Holds an open folder of the cache, or why the folder cannot be used.
struct CacheFolder {
  FileHandle handle;
  std::string problem;

  explicit operator bool() const { return handle.is_open(); }
};

/// Opens the folder again for each use, because it may come, go or change its
/// owner at any time. The caller uses the checked folder itself, whatever its
/// path leads to later.
CacheFolder open_folder(const std::string& path, FolderUse use);

/// Returns whether files can be added. This is false if the disk is mounted
/// read-only.
bool can_write(const CacheFolder& folder);

/// Returns why another user may have written the file. Returns an empty text if
/// only a trusted user can write it.
std::string distrust(const FileHandle& file, FolderUse use);

inline constexpr std::string_view kEntrySuffix = ".gpuos";
inline constexpr std::string_view kLockSuffix = ".lock";
inline constexpr std::string_view kPartPrefix = ".gpuos-part-";

/// Returns the contents of the file. Returns nothing if it is missing,
/// unreadable, no plain file or not to be trusted. With `touch` the function
/// sets its time to now, at most once a minute.
std::optional<std::string> read_cached(const CacheFolder& folder,
                                       const std::string& name, FolderUse use,
                                       bool touch);

/// Writes the whole file or nothing: it writes a second file, flushes it to the
/// disk and renames it.
/// Returns false if that fails. Then no file remains.
bool write_cached(const CacheFolder& folder, const std::string& name,
                  std::string_view bytes);

/// Holds a lock that one thread of all processes has at a time. The destructor
/// removes the lock's file.
class FileLock {
 public:
  /// Tries until `deadline`, then goes on without the lock. Throws: Cancelled.
  FileLock(const CacheFolder& folder, std::string name,
           std::chrono::steady_clock::time_point deadline);
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  ~FileLock();

  bool is_held() const noexcept { return file_.is_open(); }

 private:
  bool try_once(bool& is_hopeless);

  const CacheFolder& folder_;
  std::string name_;
  FileHandle file_;
};

/// Describes a file that the cache has written.
struct CacheFile {
  std::string name;
  std::uint64_t bytes = 0;
  std::int64_t used_ns = 0;  // since 1970
};

/// Lists the contents of a folder of the cache. The list ignores foreign files.
struct CacheListing {
  std::vector<CacheFile> entries;    // the longest unused first
  std::vector<CacheFile> leftovers;  // files of writers and lock holders
  std::uint64_t bytes = 0;           // total size of the entries
};

CacheListing list_folder(const CacheFolder& folder);

/// Removes the longest unused entries until `most_bytes` are left. Also removes
/// leftovers of processes that have ended.
CacheRemoval evict(const CacheFolder& folder, const CacheListing& listing,
                   std::uint64_t most_bytes);

/// Removes one file and counts it.
void remove_cached(const CacheFolder& folder, const CacheFile& file,
                   CacheRemoval& removal);

}  // namespace gpuos::jit
