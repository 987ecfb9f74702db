// Tests the number of workers of a process in simulated environments.
#include "base/processors.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "errors.h"
#include "gpuos/error.h"

namespace gpuos {
namespace {

namespace fs = std::filesystem;

struct File {
  const char* path;
  const char* text;
};

struct Case {
  const char* name;
  std::vector<File> files{};
  std::uint32_t allowed = 6;
  const char* omp = "";
  const char* world = "";
  const char* variable = "";
  std::uint32_t argument = 0;
  std::uint32_t usable = 6;
  std::uint32_t workers = usable;
};

constexpr const char* kGroups = "proc/self/cgroup";

/// A folder that stands for the system's root.
class Root {
 public:
  explicit Root(const std::vector<File>& files) {
    std::string name = (fs::temp_directory_path() / "gpuosXXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error(name);
    path_ = name;
    for (const File& file : files) {
      fs::create_directories((path_ / file.path).parent_path());
      std::ofstream(path_ / file.path) << file.text;
    }
  }
  ~Root() { fs::remove_all(path_); }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

class Workers : public testing::TestWithParam<Case> {};

TEST_P(Workers, AreAsManyAsTheProcessMayUse) {
  const Case& given = GetParam();
  const Root root(given.files);
  const Processors processors =
      processors_for(given.argument, {.allowed = given.allowed,
                                      .root = root.path(),
                                      .workers = given.variable,
                                      .omp_num_threads = given.omp,
                                      .local_world_size = given.world});
  EXPECT_EQ(processors.usable, given.usable);
  EXPECT_EQ(processors.workers, given.workers);
}

const Case kCases[] = {
    {.name = "mask"},
    {.name = "argument", .variable = "5", .argument = 3, .workers = 3},
    {.name = "variable",
     .world = "2",
     .variable = "5",
     .usable = 3,
     .workers = 5},
    {.name = "openmp", .omp = "4", .usable = 4},
    {.name = "openmpOfMoreThanThereAre", .omp = "40"},
    {.name = "openmpOfNestedRegions", .omp = " 4 , 2,1", .usable = 4},
    {.name = "ranks", .world = "3", .usable = 2},
    {.name = "moreRanksThanProcessors", .world = "8", .usable = 1},
    {.name = "openmpOfRanks",
     .allowed = 16,
     .omp = "6",
     .world = "2",
     .usable = 3},
    {.name = "groupWithoutQuota",
     .files = {{kGroups, "0::/a\n"},
               {"sys/fs/cgroup/a/cpu.max", "max 100000\n"}}},
    {.name = "group",
     .files = {{kGroups, "0::/a/b\n"},
               {"sys/fs/cgroup/a/b/cpu.max", "350000 100000\n"}},
     .usable = 3},
    {.name = "groupAround",
     .files = {{kGroups, "0::/a/b\n"},
               {"sys/fs/cgroup/a/cpu.max", "200000 100000\n"},
               {"sys/fs/cgroup/a/b/cpu.max", "400000 100000\n"}},
     .usable = 2},
    {.name = "groupThatIsMountedAsTheRoot",
     .files = {{kGroups, "0::/outside/container\n"},
               {"sys/fs/cgroup/cpu.max", "200000 100000\n"}},
     .usable = 2},
    {.name = "halfAProcessor",
     .files = {{kGroups, "0::/\n"},
               {"sys/fs/cgroup/cpu.max", "50000 100000\n"}},
     .usable = 1},
    {.name = "versionOne",
     .files = {{kGroups, "9:memory:/a\n4:cpu,cpuacct:/a\n"},
               {"sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "400000\n"},
               {"sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n"}},
     .usable = 4},
    {.name = "versionOneByItsShortName",
     .files = {{kGroups, "4:cpuacct,cpu:/\n"},
               {"sys/fs/cgroup/cpu/cpu.cfs_quota_us", "400000\n"},
               {"sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"}},
     .usable = 4},
    {.name = "versionOneWithoutQuota",
     .files = {{kGroups, "4:cpu:/a\n"},
               {"sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "-1\n"},
               {"sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n"}}},
    {.name = "filesThatSayNothing",
     .files = {{kGroups, "nonsense\n0::/a\n"},
               {"sys/fs/cgroup/a/cpu.max", "much\n"}}},
};

INSTANTIATE_TEST_SUITE_P(Surroundings, Workers, testing::ValuesIn(kCases),
                         [](const auto& one) {
                           return std::string(one.param.name);
                         });

TEST(Workers, OfAVariableThatIsNoNumberAreAnError) {
  for (const char* bad : {"0", "-1", "two", "1.5", "2x", ",", "99999999999"}) {
    using Variable = std::string Surroundings::*;
    const std::pair<const char*, Variable> all[] = {
        {"GPUOS_WORKERS", &Surroundings::workers},
        {"OMP_NUM_THREADS", &Surroundings::omp_num_threads},
        {"LOCAL_WORLD_SIZE", &Surroundings::local_world_size}};
    for (const auto& [name, variable] : all) {
      Surroundings wrong;
      wrong.root = "/none";
      wrong.*variable = bad;
      const std::string error =
          thrown_by<InvalidArgument>([&] { processors_for(0, wrong); });
      EXPECT_TRUE(says(error, name));
      EXPECT_TRUE(says(error, bad));
    }
  }
}

TEST(Workers, OfThisProcessAreOneOrMore) {
  EXPECT_GE(surroundings().allowed, 1u);
}

}  // namespace
}  // namespace gpuos
