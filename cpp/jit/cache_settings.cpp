#include "jit/cache_settings.h"

#include <charconv>
#include <filesystem>
#include <optional>
#include <system_error>

#include "base/concat.h"

namespace gpuos::jit {
namespace {

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

}  // namespace gpuos::jit
