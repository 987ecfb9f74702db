#include "jit/cache/disk_cache.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <chrono>
#include <fstream>

#include "cache_support.h"
#include "errors.h"
#include "jit/cache/cache_folder.h"

namespace gpuos::jit {
namespace {

namespace fs = std::filesystem;

class DiskCacheTest : public testing::Test {
 protected:
  std::string folder() const { return temp_.file("cache"); }
  std::string path_of(const std::string& key) const {
    return folder() + "/" + DiskCache::file_name(key);
  }
  void write_entry_file(const std::string& key, const std::string& bytes) {
    std::ofstream(path_of(key), std::ios::binary) << bytes;
  }
  void set_age(const std::string& key, std::chrono::seconds age) {
    fs::last_write_time(path_of(key), fs::file_time_type::clock::now() - age);
  }
  std::string why_refused() const {
    return open_folder(folder(), FolderUse::ReadWrite).problem;
  }

  const host::TempFolder temp_;
  DiskCache cache_{settings_for(folder())};
};

TEST_F(DiskCacheTest, KeepsWhatWasMade) {
  int made = 0;
  const CacheEntry wanted = entry_of("key");
  const auto make = [&] {
    ++made;
    return wanted.image;
  };
  EXPECT_EQ(cache_.get(wanted, make).binary, wanted.image.binary);
  DiskCache other(settings_for(folder()));
  const Image image = other.get(wanted, make);
  EXPECT_EQ(image.binary, wanted.image.binary);
  EXPECT_EQ(image.entries, wanted.image.entries);
  EXPECT_EQ(image.log, "a warning");
  EXPECT_EQ(image.needs.registers, 20u);
  EXPECT_EQ(made, 1);
  EXPECT_EQ(other.hits(), 1u);
  EXPECT_EQ(names_in(folder()).size(), 1u);
}

TEST_F(DiskCacheTest, IsForItsOwnerAlone) {
  ASSERT_TRUE(cache_.store(entry_of("key")));
  struct stat status{};
  ASSERT_EQ(stat(folder().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0700u);
  ASSERT_EQ(stat(path_of("key").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600u);
}

TEST_F(DiskCacheTest, FailureIsPassedOnAndNotKept) {
  EXPECT_THROW(cache_.get(entry_of("key"),
                          []() -> Image { throw std::runtime_error("no"); }),
               std::runtime_error);
  EXPECT_TRUE(names_in(folder()).empty());
}

TEST_F(DiskCacheTest, BadEntryIsAMissAndIsReplaced) {
  const CacheEntry wanted = entry_of("key");
  const std::string good = encode(wanted);
  std::string flipped = good;
  flipped[good.size() / 2] ^= 1;
  for (const std::string& bytes :
       {std::string(), good.substr(0, good.size() / 2), flipped,
        std::string("something else")}) {
    ASSERT_TRUE(cache_.store(wanted));
    write_entry_file("key", bytes);
    EXPECT_FALSE(cache_.find("key"));
    int made = 0;
    cache_.get(wanted, [&] {
      ++made;
      return wanted.image;
    });
    EXPECT_EQ(made, 1);
    EXPECT_TRUE(cache_.find("key"));
  }
}

TEST_F(DiskCacheTest, AnotherKeyUnderTheSameFileNameIsAMiss) {
  ASSERT_TRUE(cache_.store(entry_of("key")));
  write_entry_file("key", encode(entry_of("another key")));
  EXPECT_FALSE(cache_.find("key"));
  ASSERT_TRUE(cache_.store(entry_of("key")));
  EXPECT_EQ(cache_.find("key")->binary, entry_of("key").image.binary);
}

TEST_F(DiskCacheTest, SpecialFilesAreAMiss) {
  ASSERT_TRUE(cache_.store(entry_of("key")));
  const std::string elsewhere = temp_.file("elsewhere");
  fs::rename(path_of("key"), elsewhere);
  fs::create_symlink(elsewhere, path_of("key"));
  EXPECT_FALSE(cache_.find("key"));
  fs::remove(path_of("key"));
  ASSERT_EQ(mkfifo(path_of("key").c_str(), 0600), 0);
  EXPECT_FALSE(cache_.find("key"));
  fs::remove(path_of("key"));
  fs::create_directory(path_of("key"));
  EXPECT_FALSE(cache_.find("key"));
  EXPECT_TRUE(cache_.store(entry_of("key")));
  EXPECT_TRUE(cache_.find("key"));
  fs::remove(path_of("key"));
  fs::create_directories(path_of("key") + "/mine");
  EXPECT_FALSE(cache_.store(entry_of("key")));
  EXPECT_TRUE(fs::exists(path_of("key") + "/mine"));
  EXPECT_EQ(names_in(folder()).size(), 1u);
}

TEST_F(DiskCacheTest, EntryThatOthersCanWriteIsAMiss) {
  ASSERT_TRUE(cache_.store(entry_of("key")));
  ASSERT_EQ(chmod(path_of("key").c_str(), 0620), 0);
  EXPECT_FALSE(cache_.find("key"));
}

TEST_F(DiskCacheTest, FolderThatOthersCanWriteIsRefused) {
  for (const mode_t mode : {0770u, 0707u, 01777u}) {
    ASSERT_TRUE(cache_.store(entry_of("key")));
    ASSERT_EQ(chmod(folder().c_str(), mode), 0);
    EXPECT_FALSE(cache_.find("key"));
    EXPECT_FALSE(cache_.store(entry_of("other")));
    EXPECT_TRUE(says(why_refused(), "group or others may write"));
    ASSERT_EQ(chmod(folder().c_str(), 0700), 0);
  }
  EXPECT_TRUE(cache_.find("key"));
}

TEST_F(DiskCacheTest, FolderOfAnotherUserIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
  ASSERT_TRUE(cache_.store(entry_of("key")));
  ASSERT_EQ(chown(folder().c_str(), 12345, 12345), 0);
  EXPECT_FALSE(cache_.find("key"));
  EXPECT_FALSE(cache_.store(entry_of("other")));
  EXPECT_TRUE(
      says(why_refused(), "expected user 0 as the owner, got user 12345"));
}

TEST_F(DiskCacheTest, SymbolicLinkIsRefused) {
  const std::string elsewhere = temp_.file("elsewhere");
  fs::create_directory(elsewhere);
  fs::create_symlink(elsewhere, folder());
  EXPECT_FALSE(cache_.store(entry_of("key")));
  EXPECT_TRUE(names_in(elsewhere).empty());
  EXPECT_EQ(why_refused(),
            folder() + ": expected a folder, got a symbolic link");
}

TEST_F(DiskCacheTest, FolderThatCannotBeMadeSaysWhy) {
  std::ofstream(temp_.file("file")) << "a file";
  DiskCache file(settings_for(temp_.file("file")));
  EXPECT_FALSE(file.store(entry_of("key")));
  EXPECT_FALSE(file.find("key"));
  const std::string path = temp_.file("file") + "/cache";
  EXPECT_FALSE(DiskCache(settings_for(path)).store(entry_of("key")));
  EXPECT_EQ(open_folder(path, FolderUse::ReadWrite).problem,
            path + ": Not a directory");
  const std::string nowhere = "/proc/nowhere/cache";
  EXPECT_FALSE(DiskCache(settings_for(nowhere)).store(entry_of("key")));
  EXPECT_EQ(open_folder(nowhere, FolderUse::ReadWrite).problem,
            nowhere + ": cannot make it: No such file or directory");
}

TEST_F(DiskCacheTest, FolderThatWasRemovedIsMadeAgain) {
  ASSERT_TRUE(cache_.store(entry_of("key")));
  fs::remove_all(folder());
  EXPECT_FALSE(cache_.find("key"));
  EXPECT_TRUE(cache_.store(entry_of("key")));
  EXPECT_TRUE(cache_.find("key"));
}

TEST_F(DiskCacheTest, FolderThatCannotBeWrittenIsReadAndNothingFails) {
  ASSERT_TRUE(cache_.store(entry_of("key")));
  ASSERT_EQ(chmod(temp_.path().c_str(), 0755), 0);
  ASSERT_EQ(chmod(folder().c_str(), 0500), 0);
  const bool is_root = geteuid() == 0;
  if (is_root) {
    ASSERT_EQ(chown(folder().c_str(), 12345, 12345), 0);
    ASSERT_EQ(chown(path_of("key").c_str(), 12345, 12345), 0);
  }
  const pid_t child = start_child([&] {
    if (is_root && (setegid(12345) != 0 || seteuid(12345) != 0)) return 1;
    if (!cache_.find("key")) return 2;
    const CacheEntry other = entry_of("other");
    if (cache_.get(other, [&] { return other.image; }).binary !=
        other.image.binary)
      return 3;
    return cache_.store(other) ? 4 : 0;
  });
  EXPECT_EQ(wait_for(child), 0);
  EXPECT_EQ(names_in(folder()).size(), 1u);
  ASSERT_EQ(chmod(folder().c_str(), 0700), 0);
}

TEST_F(DiskCacheTest, FullDiskLeavesNoFilesAndNoErrors) {
  ASSERT_TRUE(cache_.store(entry_of("key")));
  const pid_t child = start_child([&] {
    const rlimit limit{4096, 4096};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
    const CacheEntry large = entry_of("large", 100'000);
    if (cache_.get(large, [&] { return large.image; }).binary !=
        large.image.binary)
      return 2;
    if (cache_.store(large)) return 3;
    // An entry that fits is kept.
    return cache_.store(entry_of("small")) ? 0 : 4;
  });
  EXPECT_EQ(wait_for(child), 0);
  EXPECT_FALSE(cache_.find("large"));
  EXPECT_TRUE(cache_.find("small"));
  EXPECT_EQ(names_in(folder()).size(), 2u);
}

TEST_F(DiskCacheTest, FullFileSystemLeavesNoFilesAndNoErrors) {
  constexpr int kNotPermitted = 77;
  fs::create_directory(folder());
  const pid_t child = start_child([&] {
    if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
      return kNotPermitted;
    if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("tmpfs", folder().c_str(), "tmpfs", 0, "size=64k,mode=0700") != 0)
      return kNotPermitted;
    int kept = 0;
    for (int i = 0; i < 10; ++i) {
      const CacheEntry wanted = entry_of(std::to_string(i), 10'000);
      if (cache_.get(wanted, [&] { return wanted.image; }).binary !=
          wanted.image.binary)
        return 1;
      kept += cache_.find(wanted.key) ? 1 : 0;
    }
    const bool is_clean =
        names_in(folder()).size() == static_cast<std::size_t>(kept);
    return kept > 0 && kept < 10 && is_clean ? 0 : 2;
  });
  const int code = wait_for(child);
  if (code == kNotPermitted) GTEST_SKIP() << "mounting is not permitted here";
  EXPECT_EQ(code, 0);
}

TEST_F(DiskCacheTest, NoFolderAtAllIsNoCache) {
  DiskCache none{CacheSettings{}};
  const CacheEntry wanted = entry_of("key");
  EXPECT_EQ(none.get(wanted, [&] { return wanted.image; }).binary,
            wanted.image.binary);
  EXPECT_FALSE(none.store(wanted));
  EXPECT_FALSE(none.find("key"));
}

TEST_F(DiskCacheTest, ReadOnlyLevelIsLookedUpAfterTheFirstAndNeverWritten) {
  const std::string baked = temp_.file("baked");
  CacheEntry old = entry_of("both");
  old.image.binary = "old";
  DiskCache baker(settings_for(baked));
  ASSERT_TRUE(baker.store(entry_of("baked")));
  ASSERT_TRUE(baker.store(old));

  CacheSettings settings = settings_for(folder());
  settings.readonly_folder = baked;
  DiskCache cache(settings);
  ASSERT_TRUE(cache.store(entry_of("both")));
  EXPECT_TRUE(cache.find("baked"));
  EXPECT_EQ(cache.find("both")->binary, entry_of("both").image.binary);
  EXPECT_EQ(names_in(baked).size(), 2u);
  EXPECT_EQ(names_in(folder()).size(), 1u);

  settings.folder.clear();
  EXPECT_TRUE(DiskCache(settings).find("baked"));
  EXPECT_FALSE(DiskCache(settings).store(entry_of("more")));
  ASSERT_EQ(chmod(baked.c_str(), 0777), 0);
  EXPECT_FALSE(DiskCache(settings).find("baked"));
}

TEST_F(DiskCacheTest, TheLongestUnusedGoFirstDownToFourFifths) {
  constexpr std::size_t kBytes = 10'000;
  for (int i = 0; i < 9; ++i)
    ASSERT_TRUE(cache_.store(entry_of(std::to_string(i), kBytes)));
  for (int i = 0; i < 9; ++i)
    set_age(std::to_string(i), std::chrono::hours(100 - i));
  ASSERT_TRUE(cache_.find("0"));  // used now
  DiskCache small(settings_for(folder(), 95'000));
  ASSERT_TRUE(small.store(entry_of("new", kBytes)));
  std::string left;
  for (const char* key : {"0", "1", "2", "3", "4", "5", "6", "7", "8", "new"}) {
    if (fs::exists(path_of(key))) left += key;
  }
  EXPECT_EQ(left, "045678new");
}

TEST_F(DiskCacheTest, HitIsNotedAtMostOnceAMinute) {
  ASSERT_TRUE(cache_.store(entry_of("key")));
  set_age("key", std::chrono::seconds(30));
  const auto before = fs::last_write_time(path_of("key"));
  ASSERT_TRUE(cache_.find("key"));
  EXPECT_EQ(fs::last_write_time(path_of("key")), before);
  set_age("key", std::chrono::seconds(90));
  ASSERT_TRUE(cache_.find("key"));
  EXPECT_GT(fs::last_write_time(path_of("key")), before);
}

TEST_F(DiskCacheTest, EntryLargerThanTheCacheIsNotKept) {
  DiskCache small(settings_for(folder(), 1000));
  EXPECT_FALSE(small.store(entry_of("key", 5000)));
  EXPECT_TRUE(names_in(folder()).empty());
}

}  // namespace
}  // namespace gpuos::jit
