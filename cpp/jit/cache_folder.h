#pragma once

#include <unistd.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace gpuos::jit {

/// Sole owner of a file descriptor.
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
  ReadWrite,  // made if it is missing; ours, and nobody else's to write
  ReadOnly    // root may own it too
};

/// An open folder of the cache, or why it is not one.
struct CacheFolder {
  FileHandle handle;
  std::string problem;

  explicit operator bool() const { return handle.is_open(); }
};

/// Opened anew for each use: it may come, go or change its owner at any time.
/// What was checked is what is used, whatever its path leads to later.
CacheFolder open_folder(const std::string& path, FolderUse use);

/// Whether files can be added; no if the disk is mounted read-only.
bool can_write(const CacheFolder& folder);

/// Whether a file of the cache could have been written by somebody else.
/// Empty if not.
std::string distrust(const FileHandle& file, FolderUse use);

inline constexpr std::string_view kEntrySuffix = ".gpuos";
inline constexpr std::string_view kLockSuffix = ".lock";
inline constexpr std::string_view kPartPrefix = ".gpuos-part-";

/// Returns the contents of the file. Returns nothing if it is missing,
/// unreadable, no plain file or not to be trusted. With `touch` its time
/// becomes now, at most once a minute.
std::optional<std::string> read_cached(const CacheFolder& folder,
                                       const std::string& name, FolderUse use,
                                       bool touch);

/// The whole file or nothing: written beside it, flushed to the disk, renamed.
/// False if that fails; nothing is left behind then.
bool write_cached(const CacheFolder& folder, const std::string& name,
                  std::string_view bytes);

/// Held by one thread of all processes. Its file goes with it.
class FileLock {
 public:
  /// Tries until `deadline`, then goes without. Throws: Cancelled.
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

}  // namespace gpuos::jit
