#include "jit/cache/disk_cache.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <system_error>

#include "base/concat.h"
#include "base/config.h"
#include "jit/cache/cache_folder.h"
#include "jit/cache/sha256.h"

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

constexpr std::uint64_t kDefaultMiB = 512;
constexpr std::uint64_t kMostMiB = std::uint64_t{1} << 30;

CacheSettings off(std::string why) {
  CacheSettings settings;
  settings.why_off = std::move(why);
  return settings;
}

std::optional<std::uint64_t> mebibytes(const std::string& text) {
  if (text.empty()) return kDefaultMiB;
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || at != end || value > kMostMiB)
    return std::nullopt;
  return value;
}

// Returns an absolute path, because the process may change its folder later.
std::string absolute(const std::string& path) {
  if (path.empty()) return path;
  std::error_code error;
  const auto whole = std::filesystem::absolute(path, error);
  return error ? std::string() : whole.lexically_normal().string();
}

std::string folder_of(const Config& config) {
  if (config.cache_dir) return absolute(*config.cache_dir);
  // The XDG Base Directory Specification says that relative paths are ignored.
  if (config.xdg_cache_home.starts_with('/'))
    return concat(config.xdg_cache_home, "/gpuos");
  if (config.home.starts_with('/')) return concat(config.home, "/.cache/gpuos");
  return "";
}

}  // namespace

CacheSettings cache_settings(const Config& config) {
  if (config.cache_dir && config.cache_dir->empty())
    return off("GPUOS_CACHE_DIR is empty");
  if (config.cache_dir == "off") return off("GPUOS_CACHE_DIR is off");
  const auto most = mebibytes(config.cache_max_mb);
  if (!most)
    return off(concat("GPUOS_CACHE_MAX_MB: expected a number of MiB, got '",
                      config.cache_max_mb, "'"));
  if (*most == 0) return off("GPUOS_CACHE_MAX_MB is 0");

  CacheSettings settings;
  settings.max_bytes = *most << 20;
  settings.readonly_folder = absolute(config.cache_readonly_dir);
  settings.folder = folder_of(config);
  if (settings.folder.empty())
    settings.why_off =
        "no home folder: set GPUOS_CACHE_DIR, XDG_CACHE_HOME or HOME";
  return settings;
}

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
