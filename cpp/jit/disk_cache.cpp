#include "jit/disk_cache.h"

#include <algorithm>

#include "base/concat.h"
#include "base/config.h"
#include "jit/cache_folder.h"
#include "jit/cache_listing.h"
#include "jit/sha256.h"

namespace gpuos::jit {
namespace {

// Eviction leaves this share, so that a write to a full folder does not always
// search the folder.
constexpr std::uint64_t kKeptPercent = 80;
// A process writes this share before it looks at the writes of others.
constexpr std::uint64_t kLookShare = 32;

std::uint64_t kept_bytes(const CacheSettings& settings) {
  return settings.max_bytes * kKeptPercent / 100;
}

std::optional<Image> find_in(const std::string& path, FolderUse use,
                             const std::string& name, const std::string& key) {
  if (path.empty()) return std::nullopt;
  const CacheFolder folder = open_folder(path, use);
  if (!folder) return std::nullopt;
  const auto bytes =
      read_cached(folder, name, use, use == FolderUse::ReadWrite);
  if (!bytes) return std::nullopt;
  DecodedEntry decoded = decode(*bytes);
  // Two keys may have one file name.
  if (decoded.state != EntryState::Good || decoded.entry.key != key)
    return std::nullopt;
  return std::move(decoded.entry.image);
}

}  // namespace

std::string DiskCache::file_name(const std::string& key) {
  return sha256_hex(key) + std::string(kEntrySuffix);
}

Image DiskCache::get(CacheEntry wanted, const std::function<Image()>& make,
                     const IsCurrent& is_current) {
  const auto is_usable = [&](const Image& image) {
    return !is_current || is_current(image);
  };
  const auto find_usable = [&] {
    auto image = find(wanted.key);
    if (image && !is_usable(*image)) image.reset();
    return image;
  };
  if (auto image = find_usable()) return *std::move(image);
  if (settings_.folder.empty()) return make();
  const CacheFolder folder =
      open_folder(settings_.folder, FolderUse::ReadWrite);
  if (!folder) return make();
  const FileLock lock(folder, sha256_hex(wanted.key) + std::string(kLockSuffix),
                      std::chrono::steady_clock::now() + lock_timeout_);
  if (auto image = find_usable()) return *std::move(image);
  wanted.image = make();
  if (is_usable(wanted.image)) store(wanted);
  return std::move(wanted.image);
}

std::optional<Image> DiskCache::find(const std::string& key) {
  if (settings_.folder.empty() && settings_.readonly_folder.empty())
    return std::nullopt;
  const std::string name = file_name(key);
  auto image = find_in(settings_.folder, FolderUse::ReadWrite, name, key);
  if (!image)
    image = find_in(settings_.readonly_folder, FolderUse::ReadOnly, name, key);
  if (image) hits_.fetch_add(1, std::memory_order_relaxed);
  return image;
}

bool DiskCache::store(const CacheEntry& entry) {
  if (settings_.folder.empty()) return false;
  const CacheFolder folder =
      open_folder(settings_.folder, FolderUse::ReadWrite);
  if (!folder) return false;
  const std::string bytes = encode(entry);
  if (bytes.size() > kept_bytes(settings_)) return false;
  const std::string name = file_name(entry.key);
  if (!write_cached(folder, name, bytes)) return false;
  make_room(folder, name, bytes.size());
  return true;
}

bool DiskCache::must_look(const std::string& name,
                          std::uint64_t bytes_since) const {
  if (bytes_since >= settings_.max_bytes / kLookShare) return true;
  if (has_looked_) return bytes_seen_ + bytes_since > settings_.max_bytes;
  // Listing takes milliseconds where there are thousands of entries, and many
  // processes write only one. Every eighth process lists the folder for the
  // others.
  return name.find_first_of("08") == 0;
}

void DiskCache::make_room(const CacheFolder& folder, const std::string& name,
                          std::uint64_t bytes) {
  const std::uint64_t since = bytes_since_.fetch_add(bytes) + bytes;
  if (!must_look(name, since)) return;
  const CacheListing listing = list_folder(folder);
  const std::uint64_t most = listing.bytes > settings_.max_bytes
                                 ? kept_bytes(settings_)
                                 : settings_.max_bytes;
  bytes_seen_ = listing.bytes -
                std::min(listing.bytes, evict(folder, listing, most).bytes);
  bytes_since_ = 0;
  has_looked_ = true;
}

DiskCache& disk_cache() {
  static DiskCache* const instance = new DiskCache(cache_settings(config()));
  return *instance;
}

}  // namespace gpuos::jit
