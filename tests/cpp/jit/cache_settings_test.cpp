#include "jit/cache/disk_cache.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace gpuos::jit {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

TEST(CacheSettings, PreferTheVariableThenXdgThenTheHomeFolder) {
  Config config;
  config.home = "/home/ada";
  EXPECT_EQ(cache_settings(config).folder, "/home/ada/.cache/gpuos");
  config.xdg_cache_home = "/scratch/ada";
  EXPECT_EQ(cache_settings(config).folder, "/scratch/ada/gpuos");
  config.cache_dir = "/fast/disk";
  EXPECT_EQ(cache_settings(config).folder, "/fast/disk");
  EXPECT_EQ(cache_settings(config).max_bytes, 512 * kMiB);
  EXPECT_EQ(cache_settings(config).why_off, "");
}

TEST(CacheSettings, MakeAFolderOfTheVariableAbsolute) {
  Config config;
  config.cache_dir = "here/../there";
  EXPECT_EQ(cache_settings(config).folder,
            (std::filesystem::current_path() / "there").string());
}

TEST(CacheSettings, IgnoreRelativeHomes) {
  Config config;
  config.xdg_cache_home = "cache";
  config.home = "ada";
  EXPECT_EQ(cache_settings(config).folder, "");
  EXPECT_EQ(cache_settings(config).why_off,
            "no home folder: set GPUOS_CACHE_DIR, XDG_CACHE_HOME or HOME");
}

TEST(CacheSettings, AreOffOnRequest) {
  Config config;
  config.home = "/home/ada";
  config.cache_readonly_dir = "/opt/cache";
  for (const char* text : {"off", ""}) {
    config.cache_dir = text;
    EXPECT_EQ(cache_settings(config).folder, "");
    EXPECT_EQ(cache_settings(config).readonly_folder, "");
    EXPECT_NE(cache_settings(config).why_off, "");
  }
}

TEST(CacheSettings, HaveNoFolderButAReadOnlyOne) {
  Config config;
  config.cache_readonly_dir = "/opt/cache";
  EXPECT_EQ(cache_settings(config).folder, "");
  EXPECT_EQ(cache_settings(config).readonly_folder, "/opt/cache");
}

TEST(CacheSettings, TakeTheSize) {
  Config config;
  config.home = "/home/ada";
  config.cache_max_mb = "3";
  EXPECT_EQ(cache_settings(config).max_bytes, 3 * kMiB);
  config.cache_max_mb = "0";
  EXPECT_EQ(cache_settings(config).why_off, "GPUOS_CACHE_MAX_MB is 0");
  for (const char* text : {"-1", "3 MB", "1e3", "99999999999999999999"}) {
    config.cache_max_mb = text;
    EXPECT_EQ(cache_settings(config).folder, "");
    EXPECT_EQ(
        cache_settings(config).why_off,
        std::string("GPUOS_CACHE_MAX_MB: expected a number of MiB, got '") +
            text + "'");
  }
}

}  // namespace
}  // namespace gpuos::jit
