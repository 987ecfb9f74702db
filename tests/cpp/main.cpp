// main() of all tests. `--file NAME` runs the tests of tests/cpp/*/NAME.cpp, so
// that ctest uses a process for each file.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>

namespace {

/// Returns the --gtest_filter for the tests of one file.
std::string filter_of(std::string_view file) {
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  std::string filter;
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const testing::TestSuite& suite = *all.GetTestSuite(i);
    for (int j = 0; j < suite.total_test_count(); ++j) {
      const testing::TestInfo& test = *suite.GetTestInfo(j);
      if (std::filesystem::path(test.file()).stem() != file) continue;
      filter.append(suite.name()).append(".").append(test.name()).append(":");
    }
  }
  return filter;
}

}  // namespace

int main(int count, char** arguments) {
  testing::InitGoogleTest(&count, arguments);
  if (count == 3 && std::string_view(arguments[1]) == "--file") {
    const std::string filter = filter_of(arguments[2]);
    if (filter.empty()) {
      std::fprintf(stderr, "no tests of %s\n", arguments[2]);
      return 1;
    }
    testing::GTEST_FLAG(filter) = filter;
  } else if (count != 1) {
    std::fprintf(stderr, "expected --file NAME, got %s\n", arguments[1]);
    return 1;
  }
  return RUN_ALL_TESTS();
}
