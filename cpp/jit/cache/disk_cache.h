#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/config.h"
#include "jit/cache/cache_entry.h"
#include "jit/cache/cache_folder.h"

namespace gpuos::jit {

/// Tells where compiled images are kept.
struct CacheSettings {
  std::string folder;           // empty: no level that can be written
  std::string readonly_folder;  // searched after that one, may be empty
  std::uint64_t max_bytes = 0;
  std::string why_off;  // the reason if `folder` is empty
};

/// Returns GPUOS_CACHE_DIR, or gpuos/ in XDG_CACHE_HOME, or gpuos/ in ~/.cache.
/// A folder that cannot be used turns the cache off, and `why_off` says why.
CacheSettings cache_settings(const Config& config);

/// Keeps compiled images in files that processes share. If the files or the
/// folder are wrong, an image is compiled instead. Only `make` can fail here.
///
/// Threads: any. Processes: any number.
class DiskCache {
 public:
  static constexpr std::chrono::milliseconds kLockTimeout{10'000};

  explicit DiskCache(CacheSettings settings,
                     std::chrono::milliseconds lock_timeout = kLockTimeout)
      : settings_(std::move(settings)), lock_timeout_(lock_timeout) {}

  /// Returns whether the inputs of an image are unchanged.
  using IsCurrent = std::function<bool(const Image&)>;

  /// Returns the image kept under `wanted.key`. Otherwise it returns and keeps
  /// the result of `make`. Processes that ask for one key at a time wait for
  /// the first. An image that is not current is neither taken nor kept.
  /// Throws: the errors that `make` throws.
  Image get(CacheEntry wanted, const std::function<Image()>& make,
            const IsCurrent& is_current = {});

  /// Returns an image only if it was written whole and with exactly this key.
  std::optional<Image> find(const std::string& key);

  /// Returns false if the entry cannot be kept.
  bool store(const CacheEntry& entry);

  const CacheSettings& settings() const noexcept { return settings_; }
  std::uint64_t hits() const noexcept { return hits_; }

  static std::string file_name(const std::string& key);

 private:
  bool must_look(const std::string& name, std::uint64_t bytes_since) const;
  void make_room(const CacheFolder& folder, const std::string& name,
                 std::uint64_t bytes);

  const CacheSettings settings_;
  const std::chrono::milliseconds lock_timeout_;
  std::atomic<std::uint64_t> hits_ = 0;
  // These are the bytes at the last listing, and those that this process has
  // written since.
  std::atomic<std::uint64_t> bytes_seen_ = 0;
  std::atomic<std::uint64_t> bytes_since_ = 0;
  std::atomic<bool> has_looked_ = false;
};

/// Returns the cache that the environment asks for.
DiskCache& disk_cache();

}  // namespace gpuos::jit
