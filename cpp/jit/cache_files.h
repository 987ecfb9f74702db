#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "jit/cache_folder.h"
#include "jit/file_handle.h"

namespace gpuos::jit {

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
