// Folders of processes that were killed.
#include "host/temp_folder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <string>

#include "scoped_variable.h"

namespace gpuos::host {
namespace {

class TempFolders : public testing::Test {
 protected:
  TempFolders() {
    parent_ = testing::TempDir() + "left-XXXXXX";
    EXPECT_NE(::mkdtemp(parent_.data()), nullptr);
    temp_.emplace("TMPDIR", parent_.c_str());
  }
  ~TempFolders() override { std::filesystem::remove_all(parent_); }

  /// Makes a folder look unchanged for two minutes.
  static void make_old(const std::string& folder) {
    const timespec then{::time(nullptr) - 120, 0};
    const timespec times[] = {then, then};
    ASSERT_EQ(::utimensat(AT_FDCWD, folder.c_str(), times, 0), 0);
  }
  /// Returns the folder of a process that was killed.
  std::string folder_of_the_dead() const {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      const TempFolder folder;
      write_file(folder.file("a.cpp"), "int a;");
      const std::string& path = folder.path();
      (void)!::write(ends[1], path.data(), path.size());
      ::_exit(0);  // no destructor runs
    }
    ::close(ends[1]);
    ::waitpid(child, nullptr, 0);
    char path[4096];
    const ssize_t size = ::read(ends[0], path, sizeof(path));
    ::close(ends[0]);
    return {path, size > 0 ? static_cast<std::size_t>(size) : 0};
  }

  std::string parent_;
  std::optional<ScopedVariable> temp_;
};

TEST_F(TempFolders, OfTheDeadAreRemovedByTheFirstOfAProcess) {
  const std::string left = folder_of_the_dead();
  make_old(left);
  EXPECT_NE(folder_of_the_dead(), "");
  EXPECT_FALSE(std::filesystem::exists(left));
}

TEST_F(TempFolders, OfTheDeadAreRemovedWhenTheyAreOld) {
  const std::string left = folder_of_the_dead();
  ASSERT_TRUE(std::filesystem::exists(left + "/a.cpp"));
  EXPECT_EQ(remove_left_folders(parent_), 0u);
  make_old(left);
  EXPECT_EQ(remove_left_folders(parent_), 1u);
  EXPECT_FALSE(std::filesystem::exists(left));
}

TEST_F(TempFolders, OfTheLivingStay) {
  const TempFolder folder;
  write_file(folder.file("a.cpp"), "int a;");
  make_old(folder.path());
  EXPECT_EQ(remove_left_folders(parent_), 0u);
  EXPECT_TRUE(std::filesystem::exists(folder.file("a.cpp")));
}

TEST_F(TempFolders, OfOthersStay) {
  // A link, a name of another form, a file, and a folder that others may read.
  const std::string target = parent_ + "/target";
  const std::string longer = parent_ + "/gpuos-work-bbbbbbb";
  const std::string file = parent_ + "/gpuos-work-cccccc";
  const std::string open = parent_ + "/gpuos-work-dddddd";
  for (const std::string& folder : {target, longer, open})
    ASSERT_EQ(::mkdir(folder.c_str(), folder == open ? 0755 : 0700), 0);
  std::filesystem::create_directory_symlink(target,
                                            parent_ + "/gpuos-work-aaaaaa");
  write_file(file, "");
  for (const std::string& each : {target, longer, file, open}) make_old(each);
  EXPECT_EQ(remove_left_folders(parent_), 0u);
  for (const std::string& each : {target, longer, file, open})
    EXPECT_TRUE(std::filesystem::exists(each)) << each;
}

}  // namespace
}  // namespace gpuos::host
