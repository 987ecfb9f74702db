#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "jit/cache_entry.h"
#include "jit/cache_folder.h"
#include "jit/cache_settings.h"

namespace gpuos::jit {

/// Compiled images in files that processes share. Whatever is wrong with the
/// files or the folder, an image is compiled instead: nothing here fails but
/// `make`.
///
/// Threads: any; processes: any number.
class DiskCache {
 public:
  static constexpr std::chrono::milliseconds kLockTimeout{10'000};

  explicit DiskCache(CacheSettings settings,
                     std::chrono::milliseconds lock_timeout = kLockTimeout)
      : settings_(std::move(settings)), lock_timeout_(lock_timeout) {}

  /// Whether what an image was made of is still what it was.
  using IsCurrent = std::function<bool(const Image&)>;

  /// The image kept under `wanted.key`, else what `make` returns, which is
  /// then kept. Processes that ask for one key at a time wait for the first.
  /// One that is not current is neither taken nor kept.
  /// Throws: what `make` throws.
  Image get(CacheEntry wanted, const std::function<Image()>& make,
            const IsCurrent& is_current = {});

  /// Only what was written whole and with this very key.
  std::optional<Image> find(const std::string& key);

  /// False if it cannot be kept.
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
  // The bytes at the last look, and those that this process has written since.
  std::atomic<std::uint64_t> bytes_seen_ = 0;
  std::atomic<std::uint64_t> bytes_since_ = 0;
  std::atomic<bool> has_looked_ = false;
};

/// The one that the environment asks for.
DiskCache& disk_cache();

}  // namespace gpuos::jit
