#include "host/subprocess.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <string>

#include "host/temp_folder.h"

namespace gpuos::host {
namespace {

/// The niceness that a program sees which run_process() began.
int niceness(bool yields) {
  const TempFolder folder;
  const std::string log = folder.file("log");
  const ProcessResult result =
      run_process({"/bin/sh", "-c", "cut -d' ' -f19 /proc/self/stat"}, log,
                  folder.path(), std::chrono::milliseconds(60'000), yields);
  EXPECT_EQ(result.exit_code, 0);
  return std::stoi(read_file(log, 100));
}

TEST(Subprocess, YieldsProcessorsIfAskedTo) {
  const int own = getpriority(PRIO_PROCESS, 0);
  if (own > 9) GTEST_SKIP() << "this process is nice itself";
  EXPECT_EQ(niceness(/*yields=*/false), own);
  EXPECT_EQ(niceness(/*yields=*/true), 10);
  EXPECT_EQ(getpriority(PRIO_PROCESS, 0), own);
}

}  // namespace
}  // namespace gpuos::host
