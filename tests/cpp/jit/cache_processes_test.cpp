#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "cache_support.h"
#include "deadlines.h"
#include "jit/cache/cache_folder.h"

namespace gpuos::jit {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

class CacheProcesses : public testing::Test {
 protected:
  std::string folder() const { return temp_.file("cache"); }
  std::string count_file() const { return temp_.file("count"); }

  /// A compiler that takes its time and leaves a mark.
  Image make(const CacheEntry& wanted, milliseconds time) const {
    const FileHandle file(
        ::open(count_file().c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600));
    if (::write(file.get(), "x", 1) != 1) return {};
    std::this_thread::sleep_for(time);
    return wanted.image;
  }
  /// Starts a process that makes it for longer than any test.
  pid_t start_maker(const CacheEntry& wanted) const {
    const pid_t child = start_child([&] {
      DiskCache cache(settings_for(folder()));
      cache.get(wanted, [&] { return make(wanted, 2 * kDeadline); });
      return 0;
    });
    EXPECT_TRUE(
        becomes_true([&] { return std::filesystem::exists(count_file()); }));
    return child;
  }
  static void end(pid_t child) {
    kill(child, SIGKILL);
    EXPECT_EQ(wait_for(child), -1);
  }
  void expect_soon(const CacheEntry& wanted) const {
    const auto start = Clock::now();
    DiskCache cache(settings_for(folder()), 2 * kDeadline);
    cache.get(wanted, [&] { return make(wanted, milliseconds(0)); });
    EXPECT_LT(Clock::now() - start, kDeadline);
  }
  std::uintmax_t made() const {
    return std::filesystem::file_size(count_file());
  }

  const host::TempFolder temp_;
};

TEST_F(CacheProcesses, SixteenAtOnceMakeOneImageOnce) {
  const CacheEntry wanted = entry_of("key", 50'000);
  std::vector<pid_t> children;
  for (int i = 0; i < 16; ++i) {
    children.push_back(start_child([&] {
      DiskCache cache(settings_for(folder()), kDeadline);
      const Image image =
          cache.get(wanted, [&] { return make(wanted, milliseconds(100)); });
      return image.binary == wanted.image.binary ? 0 : 1;
    }));
  }
  for (const pid_t child : children) EXPECT_EQ(wait_for(child), 0);
  EXPECT_EQ(made(), 1u);
  EXPECT_EQ(names_in(folder()).size(), 1u);
}

TEST_F(CacheProcesses, ThreadsOfOneProcessAreKeptApartToo) {
  const CacheEntry wanted = entry_of("key");
  DiskCache cache(settings_for(folder()), kDeadline);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i)
      threads.emplace_back([&] {
        cache.get(wanted, [&] { return make(wanted, milliseconds(50)); });
      });
  }
  EXPECT_EQ(made(), 1u);
}

TEST_F(CacheProcesses, OtherKeysDoNotWait) {
  const pid_t child = start_maker(entry_of("slow"));
  expect_soon(entry_of("quick"));
  end(child);
}

TEST_F(CacheProcesses, LockThatIsNotGivenUpIsWaitedForOnlySoLong) {
  const CacheEntry wanted = entry_of("key");
  DiskCache cache(settings_for(folder()), milliseconds(100));
  const CacheFolder open = open_folder(folder(), FolderUse::ReadWrite);
  const std::string name = DiskCache::file_name("key");
  const FileLock held(open,
                      name.substr(0, name.find('.')) + std::string(kLockSuffix),
                      Clock::now());
  ASSERT_TRUE(held.is_held());
  const auto start = Clock::now();
  cache.get(wanted, [&] { return make(wanted, milliseconds(0)); });
  EXPECT_GE(Clock::now() - start, milliseconds(100));
  EXPECT_LT(Clock::now() - start, kDeadline);
  EXPECT_TRUE(cache.find("key"));
}

TEST_F(CacheProcesses, KilledHolderBlocksNoOther) {
  end(start_maker(entry_of("key")));
  expect_soon(entry_of("key"));
  EXPECT_EQ(names_in(folder()).size(), 1u);
}

// At moments that wander over the whole write, until some were in the middle.
TEST_F(CacheProcesses, WriterThatIsKilledLeavesAWholeEntryOrNone) {
  const CacheEntry wanted = entry_of("key", 8 << 20);
  const std::string bytes = encode(wanted);
  DiskCache cache(settings_for(folder()));
  int partly = 0;
  const auto deadline = Clock::now() + kDeadline;
  for (int round = 0; partly < 5 && Clock::now() < deadline; ++round) {
    const pid_t child = start_child([&] {
      const CacheFolder writers = open_folder(folder(), FolderUse::ReadWrite);
      for (;;) write_cached(writers, DiskCache::file_name("key"), bytes);
      return 0;
    });
    std::this_thread::sleep_for(milliseconds(5 + 7 * (round % 40)));
    end(child);
    if (!std::filesystem::exists(folder())) continue;
    const CacheFolder open = open_folder(folder(), FolderUse::ReadWrite);
    const CacheListing listing = list_folder(open);
    if (!listing.leftovers.empty()) ++partly;
    if (!listing.entries.empty()) {
      const auto found = cache.find("key");
      ASSERT_TRUE(found);
      EXPECT_EQ(found->binary, wanted.image.binary);
    }
    // Any process that scans the folder does this.
    ASSERT_TRUE(
        DiskCache(settings_for(folder(), 2000)).store(entry_of("other")));
    EXPECT_TRUE(list_folder(open).leftovers.empty());
    std::filesystem::remove_all(folder());
  }
  EXPECT_GE(partly, 5);
}

TEST_F(CacheProcesses, EvictionLeavesWritersAlone) {
  DiskCache cache(settings_for(folder()));
  ASSERT_TRUE(cache.store(entry_of("key")));
  const std::string part = folder() + "/" + std::string(kPartPrefix) + "1";
  const FileHandle writer(::open(part.c_str(), O_WRONLY | O_CREAT, 0600));
  ASSERT_EQ(::flock(writer.get(), LOCK_EX), 0);
  const CacheFolder open = open_folder(folder(), FolderUse::ReadWrite);
  evict(open, list_folder(open), 1 << 20);
  EXPECT_TRUE(std::filesystem::exists(part));
  ::flock(writer.get(), LOCK_UN);
  evict(open, list_folder(open), 1 << 20);
  EXPECT_FALSE(std::filesystem::exists(part));
}

TEST_F(CacheProcesses, FilesOfOthersAreNotTouched) {
  DiskCache cache(settings_for(folder()));
  ASSERT_TRUE(cache.store(entry_of("key")));
  std::ofstream(folder() + "/notes.gpuos") << "mine";
  std::ofstream(folder() + "/mine.lock") << "mine";
  const CacheFolder open = open_folder(folder(), FolderUse::ReadWrite);
  EXPECT_EQ(evict(open, list_folder(open), 0).files, 1u);
  EXPECT_EQ(names_in(folder()).size(), 2u);
}

// Readers, writers, and an eviction at each write: every hit is a true one.
TEST_F(CacheProcesses, CrowdUnderEvictionNeverReadsAWrongImage) {
  std::vector<pid_t> children;
  for (int child = 0; child < 6; ++child) {
    children.push_back(start_child([&, child] {
      for (int i = 0; i < 150; ++i) {
        const CacheEntry wanted =
            entry_of(std::to_string((i * 7 + child * 3) % 20), 20'000);
        DiskCache cache(settings_for(folder(), 200'000));
        if (cache.get(wanted, [&] { return wanted.image; }).binary !=
            wanted.image.binary)
          return 1;
      }
      return 0;
    }));
  }
  for (const pid_t child : children) EXPECT_EQ(wait_for(child), 0);
  const CacheFolder open = open_folder(folder(), FolderUse::ReadWrite);
  EXPECT_LE(list_folder(open).bytes, 300'000u);
  EXPECT_TRUE(list_folder(open).leftovers.empty());
}

}  // namespace
}  // namespace gpuos::jit
